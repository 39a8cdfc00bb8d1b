// SwiftPM asks for one Swift file beside the resources.

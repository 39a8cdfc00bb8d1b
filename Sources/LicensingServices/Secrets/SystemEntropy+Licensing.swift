public import Cryptography
public import Licensing

extension SystemEntropy: Entropy {}

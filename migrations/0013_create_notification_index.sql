-- The names of notifications are removed once none can come again: by when they came.
CREATE INDEX store_notifications_by_time ON store_notifications (received_at);

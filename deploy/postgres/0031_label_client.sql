-- serves programs from schema 1
--
-- Whose label it is, so that a gateway finds a client's labelled orders without a look at those of others. A trigger sets it,
-- because schedulers of earlier versions store labels, too. NULL: the order has no client.

ALTER TABLE order_label ADD COLUMN client text COLLATE "C";

CREATE FUNCTION makegood_label_client() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.client := (SELECT o.client FROM orders o WHERE o.order_id = NEW.order_id AND o.revision = 1);
    RETURN NEW;
END
$$;

CREATE TRIGGER order_label_client BEFORE INSERT ON order_label FOR EACH ROW EXECUTE FUNCTION makegood_label_client();

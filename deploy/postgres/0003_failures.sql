-- serves programs from schema 1
--
-- What failed, as columns of the alert that says so, so that failures can be counted by their cause instead of read one
-- by one. Schedulers of an earlier version leave them empty: what they alerted of is counted as "not known".

ALTER TABLE operator_alert
    ADD COLUMN workflow   text,
    ADD COLUMN step       text, -- NULL beside a workflow: the order itself
    ADD COLUMN service    text,
    ADD COLUMN error_code text, -- the service's, or the reason's word
    ADD COLUMN signature  text; -- code and text without what differs from case to case (common/base/signature.h)

-- Open failures of orders, newest first, with all that they are counted by: whoever counts looks at the newest so many,
-- whatever the table has grown to. It holds no order that goes well.
CREATE INDEX operator_alert_group ON operator_alert (opened_at, alert_id)
    INCLUDE (workflow, step, service, signature, order_id) WHERE closed_at IS NULL AND order_id IS NOT NULL;

-- All alerts of one order, closed ones too.
CREATE INDEX operator_alert_order ON operator_alert (order_id) WHERE order_id IS NOT NULL;

// The console as people use it, in a real browser.
import assert from "node:assert/strict";
import {readFileSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {after, before, beforeEach, test} from "node:test";
import {fileURLToPath} from "node:url";
import {behave, ended, failing, order, submit, tokens, tool, until} from "./demo.mjs";
import {DESK, NARROW, PHONE, Visitor, leave} from "./visitor.mjs";

const SALE = fileURLToPath(new URL("sale.json", import.meta.url));
const APPROVAL = fileURLToPath(new URL("approval.json", import.meta.url));
const COMPENSATED = "demo-00003"; // deploy/demo's third order: its carrier declines
const PAGES = 8; // a browser has six connections to a server
const WHY = "Reason (recorded with your name)", REASON = "the test wants it";

before(() => tool(["workflow", "load", SALE, APPROVAL]));
beforeEach(() => behave("payment", "order"));
after(leave);

const buttonOf = (place, name) => place.getByRole("button", {name, exact: true}).first();

/** Presses a button and confirms its dialog, with a reason; `fields` are the dialog's others, by their labels. */
async function act({page}, button, fields = {}) {
  await button.click();
  const dialog = page.getByRole("dialog");
  for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label).fill(value);
  await dialog.getByLabel(WHY).fill(REASON);
  await dialog.locator("button[type=submit]").click();
  await dialog.waitFor({state: "detached"});
}

const rowOf = ({page}, table, key) => page.getByRole("table", {name: table, exact: true}).locator(`tr[data-key=${key}]`);
const panelOf = ({page}, heading) => page.locator("section", {has: page.getByRole("heading", {name: heading, exact: true})});

/** Opens all folded parts. */
async function unfold({page}) {
  const folded = page.locator("main details:not([open]) > summary");
  while (await folded.count() > 0) await folded.first().click();
}

/** Marks the page: a mark that is still there proves that the page was not reloaded. */
const mark = ({page}) => page.evaluate(() => { globalThis.isMarked = true; });
const isMarked = ({page}) => page.evaluate(() => globalThis.isMarked === true);

// ---- access ----

test("without a token nothing is shown, a wrong one is refused, a right one opens", async () => {
  const visitor = await Visitor.come();
  await visitor.sees("Your token");
  assert.equal(await visitor.page.locator("nav a, #find input").filter({visible: true}).count(), 0, "pages are offered before the login");
  await visitor.judge("login");
  await visitor.open(`/orders/${COMPENSATED}`);
  assert.equal(await visitor.page.locator("main h1").textContent(), "Log in");
  await visitor.page.getByLabel("Your token").fill("a guess");
  await visitor.page.keyboard.press("Enter");
  await visitor.page.locator(".failed:not(:empty)").waitFor();
  await visitor.judge("login-refused");
  await visitor.page.getByLabel("Your token").fill(tokens.operator);
  await visitor.page.keyboard.press("Enter");
  await visitor.sees("History");
  await visitor.page.getByRole("button", {name: "Log out operator"}).click();
  await visitor.sees("Your token");
  await visitor.leave(/status of 403/);
});

// ---- a new user's questions: each has one page ----

test("is it well? what is stuck, and why? the pages show it and follow each change", async () => {
  const visitor = await Visitor.login("operator");
  await visitor.sees("All is well");
  await visitor.judge("overview-well");
  await mark(visitor);
  const ids = await failing(12);
  await visitor.sees("1 problem needs attention");
  await visitor.sees("12 orders have failed");
  assert(await isMarked(visitor), "the overview was loaded anew to show what has changed");
  await visitor.judge("overview-failing");

  await visitor.page.getByRole("link", {name: "See the failures"}).click();
  const group = visitor.page.getByRole("row", {name: "http_422"});
  assert.match(await group.textContent(), /12sale.*charge.*payment/s);
  await visitor.judge("failures");
  await group.getByRole("link", {name: "http_422"}).click();
  await visitor.sees(ids[0]);
  assert.equal(await visitor.page.locator("main tbody tr").count(), ids.length);
  await visitor.judge("orders-of-a-failure");
  await visitor.leave();
});

test("which service hurts? its page shows it, and its end", async () => {
  const visitor = await Visitor.login("operator");
  await behave("payment", "unavailable");
  const ids = await submit(60); // more than enough to open the breaker of each agent
  await visitor.sees("Service payment fails since");
  await visitor.sees("http_503");
  await visitor.page.getByRole("link", {name: "Repair it"}).click();
  const payment = rowOf(visitor, "Services", "payment");
  await payment.getByText("breaker open").waitFor();
  await payment.getByText("http_503").waitFor();
  await payment.getByRole("img", {name: /^Calls to payment in the last hour/}).waitFor();
  await payment.getByRole("link", {name: /^[0-9]+$/}).click();
  await visitor.sees("Orders that wait for service payment");
  await visitor.sees("charge waits for payment: breaker open");
  await visitor.judge("orders-that-wait");
  await visitor.page.goBack();
  await unfold(visitor);
  await visitor.judge("services");
  await visitor.open("/");
  await visitor.page.getByRole("img", {name: /^Orders of the last hour: /}).waitFor();
  assert.match(await visitor.page.locator(".chart .scale").textContent(), /^(\d\d:\d\d){4}now$/);
  await visitor.page.locator(".tile a", {hasText: "processing"}).click();
  await visitor.page.getByRole("heading", {name: "Open orders, oldest first"}).waitFor();
  await visitor.page.goBack();
  await visitor.page.locator(".tile").first().waitFor();
  await visitor.judge("overview-failing");
  await behave("payment", "order");
  await ended(ids, "processed");
  await visitor.leave();
});

test("what happened to an order? its id leads to its story", async () => {
  const visitor = await Visitor.login("reader");
  await visitor.page.getByRole("searchbox", {name: "Order id"}).fill(COMPENSATED);
  await visitor.page.keyboard.press("Enter");
  await visitor.sees("History");
  assert.equal(new URL(visitor.page.url()).pathname, `/orders/${COMPENSATED}`);
  const story = await visitor.page.locator('.chapter[data-key="by time"] .story > li').allTextContents();
  for (const [at, what] of [[0, /submitted/], [3, /book.*422.*compensating/s], [story.length - 1, /undone.*status to client: compensated/s]]) {
    assert.match(story[at], what);
  }
  assert.equal(await visitor.page.locator(".track-list li").count(), 3);
  assert.equal(await visitor.page.locator(".track-list li[data-key=book] .bar.is-bad").count(), 2, "the run that failed, and its end");
  assert.deepEqual(await visitor.page.locator("main .panel > h2").allTextContents().then((names) => names.filter((name) => ["Steps", "Timeline", "History", "Details"].includes(name))),
    ["Steps", "Timeline", "History", "Details"], "the steps stand before the history");
  assert.match(await visitor.page.locator(".verdict .what").textContent(), /is compensated: it has ended/);
  assert.match(await visitor.page.locator(".verdict .why").textContent(), /^Since .* ago\): a step failed \(step book/);
  const chapters = await visitor.page.locator(".chapter > summary").allTextContents();
  assert.equal(chapters.length, 4, "a line for each step, and one for all events");
  for (const line of chapters) assert.match(line, /\d+ events?/);
  await visitor.page.getByRole("button", {name: "Requests of step book"}).click();
  await visitor.sees("Requests of step book");
  assert.match(await visitor.page.locator("main details[data-key=do]").textContent(), /POST \/.*these bytes have gone out/s);
  await visitor.judge("order-requests");
  await unfold(visitor);
  assert.match(await visitor.page.locator("main pre").filter({hasText: "ship_to"}).first().textContent(), /Étienne \\"Ti\\" Dupré/);
  await visitor.judge("order");
  await visitor.open("/orders/nobody");
  await visitor.sees("Not found");
  await visitor.judge("order-not-found");
  await visitor.leave(/status of 404/);
});

test("orders are found by state, workflow, step, error and time", async () => {
  const [id] = await failing(1);
  await behave("payment", "order");
  const visitor = await Visitor.login("reader");
  const search = async (filters) => {
    await visitor.page.getByRole("link", {name: "Orders", exact: true}).click();
    await visitor.page.getByRole("heading", {name: "Orders", exact: true}).waitFor();
    await visitor.page.getByRole("link", {name: "Clear"}).click();
    await visitor.page.waitForURL("/orders");
    for (const [label, value] of Object.entries(filters)) {
      const field = visitor.page.getByLabel(label, {exact: true});
      if (label === "state" || label === "workflow") await field.selectOption(value);
      else await field.fill(value);
    }
    await visitor.page.getByRole("button", {name: "Search"}).click();
    await visitor.page.waitForURL(/\?/);
    await visitor.page.locator("main table, main .soft").first().waitFor();
    return visitor.page.locator("main tbody tr").allTextContents();
  };
  const has = (rows, each) => assert(rows.length > 0 && rows.every((row) => each.test(row)), `${each} in each of ${rows.join("\n")}`);
  has(await search({state: "compensated"}), /^demo-.*compensated.*(book|charge) failed: http_422/);
  has(await search({workflow: "sale", state: "processed"}), /^browser-.*processed/);
  has(await search({state: "error", "failed at step": "charge", "error code": "http_422"}), /^browser-.*charge/);
  has(await search({workflow: "fulfilment", since: "1h"}), /^demo-.*fulfilment/);
  assert.deepEqual(await search({state: "error", "failed at step": "book"}), []);
  await visitor.judge("orders-none");
  await visitor.open("/orders");
  await visitor.page.getByRole("link", {name: id, exact: true}).waitFor();
  await visitor.judge("orders");
  await visitor.leave();
});

// ---- branches ----

const TRIP = {traveller: "Ada", fare: 120, currency: "CHF"};
const PICKUP = {street: "Marktgasse 1", city: "Bern"};

/** The boxes of an order's picture: {step: text}, and the classes of its arrows: {"from>to": way}. */
const pictureOf = ({page}, id) => page.evaluate(async (asked) => {
  const {graph} = await (await fetch(`/api/v1/orders/${asked}`)).json();
  const arrows = [...document.querySelectorAll(".graph .arrow")].map((path) => path.getAttribute("class").replace(/arrow|is-need|is-|\s/g, ""));
  const boxes = [...document.querySelectorAll(".graph .box")];
  return {
    steps: Object.fromEntries(boxes.map((box) => [box.dataset.key, box.querySelector("title").textContent])),
    marks: new Set(boxes.map((box) => box.querySelector(".mark").getAttribute("d"))).size,
    ways: Object.fromEntries(graph.edges.map((edge, index) => [`${edge.from}>${edge.to}`, arrows[index]])),
  };
}, id);

async function branched() {
  const [plain] = await submit(1, {workflow: "trip", payload: TRIP, bare: true});
  const [costly] = await submit(1, {workflow: "trip", payload: {...TRIP, fare: 9000, insurance: true}, bare: true});
  const [whole] = await submit(1, {workflow: "trip", payload: {...TRIP, insurance: true, pickup: PICKUP}, bare: true});
  const [returned] = await submit(1, {workflow: "returns", payload: {order_number: "A-17", total: 160.5, condition: "new", wants: "voucher"}, bare: true});
  await ended([plain, whole, returned], "processed");
  await ended([costly], "compensated");
  return {plain, costly, whole, returned};
}

test("which way did a branching order go? its picture has every step from the start, and the reason of each skip", async () => {
  const {plain, costly, whole, returned} = await branched();
  const visitor = await Visitor.login("reader", DESK);
  await visitor.open(`/orders/${plain}`, visitor.page.locator(".graph"));
  let {steps, ways, marks} = await pictureOf(visitor, plain);
  assert.match(steps.insure, /^insure: skipped: values\.is_insured was false/);
  assert.match(steps.policy, /^policy: skipped: .*insure/);
  assert.match(steps.transfer, /^transfer: skipped: has\(payload\.pickup\)/);
  assert.match(steps.ticket, /^ticket: done; .*pivot/);
  assert.deepEqual(ways, {"seat>charge": "taken", "charge>insure": "passed", "insure>policy": "passed", "charge>transfer": "passed",
    "policy>ticket": "taken", "transfer>ticket": "taken"});
  assert.equal(marks, 2, "states differ by colour alone");
  assert.equal(await visitor.page.locator(".graph .guards").count(), 3);
  assert.match(await visitor.page.locator(".graph .guards title").first().textContent(), /^require payload\.fare <= 5000$/);
  await visitor.judge("graph-skipped");

  await visitor.open(`/orders/${costly}`, visitor.page.locator(".graph"));
  ({steps, ways} = await pictureOf(visitor, costly));
  assert.match(steps.seat, /^seat: undone/);
  assert.match(steps.charge, /^charge: failed/);
  assert.match(steps.ticket, /^ticket: not /);
  assert.deepEqual([ways["seat>charge"], ways["charge>insure"]], ["back", "open"]);
  assert.equal(await visitor.page.locator(".graph .arrow.is-back[marker-start]").count(), 1, "the way back has no head that points back");
  await visitor.judge("graph-undone");

  await visitor.open(`/orders/${whole}`, visitor.page.locator(".graph"));
  ({ways} = await pictureOf(visitor, whole));
  assert.deepEqual(new Set(Object.values(ways)), new Set(["taken"]));
  await visitor.judge("graph-whole");
  await visitor.open(`/orders/${returned}`, visitor.page.locator(".graph"));
  await visitor.judge("graph-returns");
  await visitor.leave();
});

test("an order that waits has its coming steps in the picture, and an undo has its way back", async () => {
  const visitor = await Visitor.login("operator", DESK);
  await tool(["service", "pause", "payment", "--reason", REASON]);
  const [id] = await submit(1, {workflow: "trip", payload: {...TRIP, insurance: true, pickup: PICKUP}, bare: true});
  try {
    await visitor.open(`/orders/${id}`, visitor.page.locator(".graph .box[data-key=charge].is-wait"));
    const {steps} = await pictureOf(visitor, id);
    assert.deepEqual(Object.keys(steps), ["seat", "charge", "insure", "policy", "transfer", "ticket"]);
    for (const step of ["insure", "policy", "transfer", "ticket"]) assert.match(steps[step], new RegExp(`^${step}: (not yet|pending)`));
    assert.match(await visitor.page.locator(".verdict .next").textContent(), /^Next: as soon as payment takes requests: .* undo seat; the client is told compensated/);
    for (const since of [visitor.page.locator(".verdict .why [data-at]").first(), visitor.page.locator(".graph .box[data-key=charge] [data-since]")]) {
      const before = await since.textContent();
      await until("the time goes on without a question to the server", async () => (await since.textContent()) !== before);
    }
    assert.match(await visitor.page.locator(".graph .box[data-key=charge] .state").textContent(), /^waiting for payment, \d+ s$/);
    await visitor.judge("graph-waits");
  } finally {
    await behave("carrier", "decline");
    await tool(["service", "resume", "payment", "--reason", REASON]);
  }
  await ended([id], "compensated");
  await behave("carrier", "order");
  await visitor.page.locator(".graph .box[data-key=charge]", {hasText: "undone"}).waitFor();
  const {ways} = await pictureOf(visitor, id);
  assert.deepEqual([ways["seat>charge"], ways["charge>insure"], ways["charge>transfer"]], ["back", "back", "back"]);
  await visitor.judge("graph-back");
  await visitor.leave();
});

test("on a phone the same steps stand in a list, and workflows count what was skipped", async () => {
  const {plain, costly} = await branched();
  for (const [viewport, size] of [[PHONE, "phone"], [DESK, "desk"]]) {
    const visitor = await Visitor.login("reader", viewport);
    await visitor.open("/workflows");
    await rowOf(visitor, "Workflows", "trip").waitFor();
    await visitor.judge(`workflows-${size}`);
    await visitor.measure("/workflows");
    await visitor.page.getByRole("link", {name: "trip", exact: true}).click();
    const insure = rowOf(visitor, "Steps of trip", "insure");
    await insure.waitFor();
    const names = await panelOf(visitor, "Steps").locator("tbody th").allTextContents();
    assert.deepEqual(names.map((text) => text.trim()), ["seat", "charge", "insure", "policy", "transfer", "ticket"], "the workflow's order");
    const skipped = insure.locator("td[data-name=skipped]");
    assert(Number(await skipped.textContent()) > 0, "the workflows page counts no skip");
    await visitor.judge(`workflow-${size}`);
    await visitor.measure("/workflows/trip");
    for (const [id, name] of [[plain, "skipped"], [costly, "undone"]]) {
      await visitor.open(`/orders/${id}`, visitor.page.locator("main h1"));
      await visitor.page.locator(size === "phone" ? "ol.graph-list" : ".graph").waitFor();
      assert.equal(await visitor.page.locator(size === "phone" ? ".graph" : "ol.graph-list").isVisible(), false);
      if (size === "phone") {
        const lines = await visitor.page.locator("ol.graph-list > li").allTextContents();
        assert.equal(lines.length, 6);
        assert.match(lines.find((line) => line.startsWith("insure")), name === "skipped" ? /skipped.*values\.is_insured was false.*when values\.is_insured/ : /not .*when values\.is_insured/);
      }
      await visitor.judge(`graph-${size}-${name}`);
      await visitor.measure(`order ${name}`);
    }
    await visitor.leave();
  }
});

// ---- an operator's actions ----

test("a failed order is resumed, and its page follows it to its end", async () => {
  const [id] = await failing(1);
  const visitor = await Visitor.login("operator");
  await visitor.open(`/orders/${id}`);
  await visitor.judge("order-failed");
  await buttonOf(visitor.page, "Resume").click();
  await visitor.judge("order-resume");
  await visitor.page.keyboard.press("Escape");
  await visitor.page.getByRole("dialog").waitFor({state: "detached"});
  assert.equal((await order(id)).state, "error", "what was not confirmed was done");
  await mark(visitor);
  const kept = await visitor.page.evaluate(async (asked) => (await fetch(`/api/v1/orders/${asked}`)).text(), id);
  await visitor.page.route(`**/api/v1/orders/${id}`, (route) => route.fulfill({body: kept, contentType: "application/json"}), {times: 2}); // as if just answered
  await behave("payment", "order");
  await act(visitor, buttonOf(visitor.page, "Resume"));
  await visitor.page.locator("main .head .badge", {hasText: "processed"}).waitFor();
  assert(await isMarked(visitor), "the order's page was loaded anew to show what has changed");
  assert.equal((await order(id)).state, "processed");
  assert.match(await tool(["order", "show", id]), new RegExp(`resume.*${REASON}.*by operator`));
  await visitor.judge("order-resumed");
  await visitor.leave();
});

test("a paused service is called by nobody, and its orders go on when it is resumed", async () => {
  const visitor = await Visitor.login("operator");
  await visitor.open("/services");
  const payment = rowOf(visitor, "Services", "payment");
  await act(visitor, buttonOf(payment, "Pause"), {"duration (10m, 2h); empty: until it is resumed": "10m"});
  await payment.getByText("paused", {exact: true}).waitFor();
  await payment.locator("time").first().waitFor();
  await visitor.page.locator(".spark .pause").first().waitFor();
  await visitor.judge("services-paused");
  const [id] = await submit(1);
  await visitor.open(`/orders/${id}`);
  await visitor.sees("paused");
  await visitor.judge("order-waits");
  await visitor.open("/");
  await visitor.sees("Service payment is paused by operator");
  await visitor.open("/services");
  await act(visitor, buttonOf(payment, "Resume"));
  await payment.getByText("serving").waitFor();
  await ended([id], "processed");
  await act(visitor, buttonOf(payment, "Limit"), {"concurrent calls; none: no limit; empty: unchanged": "4"});
  await payment.getByText("4 concurrent calls").waitFor();
  await act(visitor, buttonOf(payment, "Limit"), {"concurrent calls; none: no limit; empty: unchanged": "none"});
  await payment.getByText("4 concurrent calls").waitFor({state: "detached"});
  await visitor.leave();
});

test("a refused submission is sent back when what it lacked is there, or dropped", async () => {
  const visitor = await Visitor.login("operator");
  await visitor.open("/dead");
  await visitor.sees("is empty");
  await visitor.judge("dead-none");
  const [again, never] = [await submit(1, {workflow: "late"}), await submit(1, {workflow: "never"})].flat();
  await until("both are refused", async () => (await tool(["dead", "list", "--queue", "orders.rejected"])).split("\n").length > 3);
  await visitor.open("/dead?queue=orders.rejected");
  await visitor.sees('no workflow "late" has been loaded');
  await visitor.judge("dead");
  const late = `${tmpdir()}/late.json`;
  writeFileSync(late, readFileSync(SALE, "utf8").replace('"sale"', '"late"'));
  await tool(["workflow", "load", late]);
  await act(visitor, buttonOf(visitor.page, "Requeue"));
  await visitor.sees("1 message in");
  await ended([again], "processed");
  await act(visitor, buttonOf(visitor.page, "Drop"));
  await visitor.sees("is empty");
  assert.equal((await order(never)).state, "unknown");
  await visitor.leave();
});

/** An order that waits for an approval, with its page of answers. */
async function waiting() {
  const [id] = await submit(1, {workflow: "browser-approval", payload: {customer: "ada", total: 612.50}});
  await until("the order waits", async () => (await order(id)).state === "processing");
  return id;
}

test("a person is asked, answers with a button and with JSON, and sees each refusal in words", async () => {
  const id = await waiting(), visitor = await Visitor.login("operator");
  await visitor.open(`/orders/${id}`);
  await visitor.sees(/waits for signal approved until .*; then it fails/);
  await visitor.judge("order-that-waits");
  await visitor.page.getByRole("link", {name: "Answer", exact: true}).click();
  await visitor.page.getByRole("heading", {level: 1, name: `Waiting: order ${id}`}).waitFor();
  await visitor.sees("An order above the limit");
  await unfold(visitor);
  await visitor.judge("waiting-of-an-order");
  await tool(["order", "list", "--waiting", "approved"]).then((listed) => assert.match(listed, new RegExp(id)));
  await act(visitor, buttonOf(visitor.page, "Approve"));
  await visitor.sees("Signal counted");
  await buttonOf(visitor.page, "Answer").click();
  const dialog = visitor.page.getByRole("dialog");
  await dialog.getByLabel("Payload (JSON)").fill("{no");
  await dialog.getByLabel(WHY).fill(REASON);
  await dialog.locator("button[type=submit]").click();
  await dialog.getByText("payload: expected JSON").waitFor();
  await visitor.judge("waiting-dialog");
  await dialog.getByLabel("Payload (JSON)").fill('{"pieces": 3}');
  await dialog.locator("button[type=submit]").click();
  await dialog.waitFor({state: "detached"});
  await ended([id], "processed");
  await visitor.sees("This order does not wait for a signal now.");
  await visitor.leave(/status of 400/);
});

test("a question that is gone is no longer on its page, and its open dialog answers nothing", async () => {
  const id = await waiting(), visitor = await Visitor.login("operator"), dialog = visitor.page.getByRole("dialog");
  await visitor.open(`/waiting/${id}`);
  await buttonOf(visitor.page, "Approve").click();
  await dialog.getByLabel(WHY).fill(REASON);
  await tool(["order", "cancel", id, "--reason", REASON]);
  await dialog.getByText("The question has changed, or is answered").waitFor();
  assert.equal(await dialog.locator("button[type=submit]").isDisabled(), true);
  await dialog.getByRole("button", {name: "Close"}).click();
  await visitor.sees("This order does not wait for a signal now.");
  await visitor.leave();
});

test("by the keyboard alone a person finds all that waits, and rejects an order", async () => {
  const id = await waiting(), visitor = await Visitor.login("operator"), {keyboard} = visitor.page;
  await keyboard.press("g");
  await keyboard.press("p");
  await visitor.sees(id);
  await visitor.judge("waiting");
  await visitor.tabTo("Reject");
  await keyboard.press("Enter");
  await keyboard.type(REASON);
  await keyboard.press("Tab");
  await keyboard.press("Tab");
  await keyboard.press("Enter");
  await ended([id], "compensated");
  await visitor.leave();
});

test("one acknowledgement makes a cause known, and it is well", async () => {
  await failing(3);
  await behave("payment", "order");
  const visitor = await Visitor.login("operator");
  await visitor.open("/alerts");
  await visitor.judge("alerts");
  await act(visitor, buttonOf(visitor.page, "Acknowledge"));
  await visitor.sees(`operator: ${REASON}`);
  await visitor.sees("0 causes need attention, 1 known");
  await visitor.judge("alerts-known");
  await visitor.open("/", visitor.page.getByRole("heading", {level: 1, name: "Well, 1 cause known (operator)"}));
  await visitor.judge("overview-known");
  await visitor.open("/alerts?all=1");
  await visitor.sees("closed");
  await visitor.judge("alerts-all");
  await visitor.open("/audit?by=operator");
  assert.match(await visitor.page.locator("main tbody tr").first().textContent(), /operator.*alert ack.*the test wants it/s);
  await visitor.judge("audit");
  await visitor.page.reload();
  await visitor.sees("alert ack");
  await visitor.open("/alerts");
  await visitor.page.getByRole("button", {name: "Copy report"}).first().click();
  assert.match(await visitor.page.getByLabel("Text", {exact: true}).inputValue(), /^# Incident: http_422[^]*## Orders[^]*browser-[^]*operator: alert ack/);
  await visitor.judge("incident-report");
  await visitor.leave();
});

test("a step is settled, another order's is skipped, and a payload is repaired before its eyes", async () => {
  const [settled, skipped, repaired] = await failing(3);
  await behave("payment", "order");
  const visitor = await Visitor.login("operator");
  await visitor.open(`/orders/${settled}`);
  await visitor.judge("order-acts");
  await buttonOf(visitor.page, "Settle").click();
  await visitor.judge("order-settle");
  await visitor.page.getByLabel("result of a step that is done").fill('{"charge": 14.50}');
  await visitor.page.getByLabel(WHY).fill(REASON);
  await visitor.page.getByRole("button", {name: "Settle step charge"}).click();
  await ended([settled], "processed");
  await visitor.open(`/orders/${skipped}`);
  await act(visitor, buttonOf(visitor.page, "Skip"));
  await ended([skipped], "processed");
  await visitor.open(`/orders/${repaired}`);
  await buttonOf(visitor.page, "Repair and resume").click();
  const dialog = visitor.page.getByRole("dialog"), confirm = dialog.locator("button[type=submit]");
  assert(await confirm.isDisabled(), "a resume without a repair is offered as one");
  await dialog.getByLabel("Payload").fill("{");
  await dialog.getByText("Not JSON").waitFor();
  await dialog.getByLabel("Payload").fill(`{"number": "${repaired}", "total": 14.00}`);
  await dialog.getByText("1 value changes").waitFor();
  assert.match(await dialog.locator(".diff").textContent(), /\/total\s*\+ 14\.00/);
  await visitor.judge("order-repair");
  await dialog.getByLabel(WHY).fill(REASON);
  await confirm.click();
  await dialog.waitFor({state: "detached"});
  await ended([repaired], "processed");
  assert.match(await tool(["order", "export", repaired]), /"total":\s*14\.00/);
  await visitor.page.getByRole("button", {name: "Text for the client"}).click();
  assert.match(await visitor.page.getByLabel("Text", {exact: true}).inputValue(), /is complete/);
  await visitor.leave();
});

test("an order is posted by a form that its workflow's input makes", async () => {
  const file = `${tmpdir()}/posted.json`;
  writeFileSync(file, readFileSync(SALE, "utf8").replace('"sale"', '"posted"').replace('"complete_within": "1h"', '"complete_within": "1h", "input": {"email": "text", "total": "number", "gift?": "boolean", "items": [{"sku": "text"}]}'));
  await tool(["workflow", "load", file]);
  const visitor = await Visitor.login("operator");
  await visitor.open("/post?workflow=posted", visitor.page.getByLabel("email"));
  await buttonOf(visitor.page, "Post").click();
  await visitor.page.getByRole("dialog").getByText("These fields are still empty: email, total, items.").waitFor();
  await visitor.page.keyboard.press("Escape");
  await visitor.page.getByRole("dialog").waitFor({state: "detached"});
  await visitor.page.getByLabel("email").fill("ada@example.com");
  await visitor.page.getByLabel("total").fill("14.00");
  await visitor.page.getByLabel("items").fill('[{"sku": "A-1"}]');
  await unfold(visitor);
  assert.match(await visitor.page.locator("main pre").textContent(), /"email": "ada@example.com", "total": 14.00, "items":/);
  await visitor.judge("post");
  await act(visitor, buttonOf(visitor.page, "Post"));
  await visitor.page.waitForURL(/\/orders\//);
  await visitor.page.locator("main .head .badge", {hasText: "processed"}).waitFor();
  await visitor.page.locator(".graph .box[data-key=charge]").click();
  assert(await visitor.page.evaluate(() => { const {top, bottom} = document.getElementById("step-charge").getBoundingClientRect(); return top >= 0 && bottom <= window.innerHeight; }), "the box does not lead to its step");
  await visitor.leave();
});

test("failed orders go again, gently: a bulk action stops by itself while its first ones fail, and the next goes to the end", async () => {
  const ids = await failing(20);
  const visitor = await Visitor.login("operator");
  const start = async () => {
    await visitor.open("/failures");
    const row = visitor.page.getByRole("row", {name: "sale"}).filter({hasText: "http_422"});
    const count = Number((await row.locator("td.number").textContent()));
    await row.getByRole("button", {name: "Start a bulk action"}).click();
    await visitor.sees(`The bulk action would take ${count} orders`);
    return count;
  };
  const confirm = async () => {
    await visitor.page.getByLabel("rate: orders per second after these").fill("100");
    await visitor.page.getByLabel(WHY).fill(REASON);
    await visitor.page.getByRole("dialog").locator("button[type=submit]").click();
    await visitor.page.waitForURL(/\/bulk\//);
  };
  const became = async (result) => Number(await visitor.page.locator(".tile", {hasText: result}).locator("b").textContent());

  let count = await start();
  await visitor.judge("bulk-start");
  await visitor.page.keyboard.press("Escape");
  await visitor.page.getByRole("dialog").waitFor({state: "detached"});
  assert.equal(await visitor.page.evaluate(() => document.activeElement.textContent), "Start a bulk action", "the focus is lost with the dialog");
  await start();
  await confirm();
  await visitor.page.locator("main .head .badge", {hasText: "stopped"}).waitFor();
  assert.deepEqual([await became("failed"), await became("skipped"), await became("done")], [5, count - 5, 0]);
  await visitor.judge("bulk-stopped");
  await visitor.open("/");
  await visitor.sees("bulk action has stopped by itself");

  await behave("payment", "order");
  count = await start();
  await confirm();
  await visitor.page.locator("main .head .badge", {hasText: "done"}).waitFor();
  assert.deepEqual([await became("failed"), await became("skipped"), await became("done")], [0, 0, count]);
  assert.match(await visitor.page.locator("main h1").textContent(), new RegExp(`^Resume ${count} orders: http_422`));
  await visitor.judge("bulk-done");
  await visitor.page.locator(".tile a", {hasText: "done"}).click();
  await visitor.page.getByRole("heading", {name: "Orders: done"}).waitFor();
  await ended(ids, "processed");
  await visitor.open("/bulk");
  assert.equal(await visitor.page.locator("main tbody tr").count(), 2);
  await visitor.judge("bulk");
  await visitor.leave();
});

// ---- input devices and views ----

test("by the keyboard alone one logs in, finds an order, and resumes it", async () => {
  const [id] = await failing(1);
  await behave("payment", "order");
  const visitor = await Visitor.come(), {keyboard} = visitor.page;
  await visitor.sees("Your token");
  await keyboard.type(tokens.operator);
  await keyboard.press("Enter");
  await visitor.sees(/needs? attention/);
  await keyboard.press("/");
  await keyboard.type(id);
  await keyboard.press("Enter");
  await visitor.sees("History");
  await visitor.tabTo("Resume");
  await keyboard.press("Enter");
  await visitor.page.getByRole("dialog").waitFor();
  await keyboard.type(REASON);
  await visitor.tabTo(`Resume: order ${id}`);
  await keyboard.press("Enter");
  await visitor.page.locator("main .head .badge", {hasText: "processed"}).waitFor();
  await ended([id], "processed");
  await keyboard.press("g");
  await keyboard.press("f");
  await visitor.page.waitForURL("/failures");
  await keyboard.press("?");
  await visitor.page.getByRole("dialog").waitFor();
  await visitor.judge("keys");
  await keyboard.press("Escape");
  await visitor.page.getByRole("dialog").waitFor({state: "detached"});
  await visitor.leave();
});

test("at 320 pixels all is there, without scrolling sideways, and large enough for a finger", async () => {
  const [id] = await failing(1);
  await behave("payment", "order");
  await submit(1, {workflow: "never"});
  await waiting();
  const visitor = await Visitor.login("operator", NARROW);
  for (const path of ["/", "/orders", "/orders?state=error", `/orders/${id}`, `/orders/${COMPENSATED}`, "/failures", "/bulk", "/waiting", "/alerts", "/dead",
    "/dead?queue=orders.rejected", "/services", "/workflows", "/workflows/sale", "/schedules", "/audit", "/post"]) {
    await visitor.open(path);
    await visitor.page.locator("main .panel").last().waitFor();
    await unfold(visitor);
    await visitor.judge(`narrow${path.replaceAll(/\W/g, "-")}`);
    await visitor.measure(path);
  }
  await visitor.open(`/orders/${id}`);
  await buttonOf(visitor.page, "Resume").click();
  await visitor.judge("narrow-dialog");
  await visitor.measure("a dialog");
  await visitor.leave();
});

test("a desk shows 25 orders at once, a phone the first one, and a menu leads on", async () => {
  await submit(30);
  let visitor = await Visitor.login("reader", DESK);
  const seen = () => visitor.page.evaluate(() => [...document.querySelectorAll("main tbody tr")].filter((row) => row.getBoundingClientRect().bottom <= window.innerHeight).length);
  await visitor.open("/orders", visitor.page.locator("main tbody tr").first());
  assert((await seen()) >= 25, `${await seen()} orders on a desk`);
  await visitor.leave();
  visitor = await Visitor.login("reader", PHONE);
  await visitor.open("/orders", visitor.page.locator("main tbody tr").first());
  assert((await seen()) >= 1, "no order in a phone's first screen");
  await visitor.judge("orders-phone");
  await visitor.page.getByRole("button", {name: "Pages"}).click();
  await visitor.judge("menu-phone");
  await visitor.measure("the menu");
  await visitor.page.getByRole("link", {name: "Services"}).click();
  await visitor.page.getByRole("heading", {level: 1, name: "Services"}).waitFor();
  await visitor.leave();
});

test("the theme is as the system's, until a user chooses, and then stays", async () => {
  const visitor = await Visitor.login("reader");
  const ground = () => visitor.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await visitor.page.emulateMedia({colorScheme: "dark"});
  const dark = await ground();
  assert.notEqual(dark, light);
  await visitor.page.getByRole("button", {name: "Theme: system"}).click();
  assert.equal(await ground(), light);
  await visitor.page.reload();
  await visitor.page.getByRole("button", {name: "Theme: light"}).click();
  await visitor.page.emulateMedia({colorScheme: "light"});
  assert.equal(await ground(), dark);
  await visitor.leave();
});

test("a page that cannot follow any more shows it, goes on when it can, and asks for the token when its session has ended", async () => {
  const visitor = await Visitor.login("reader"), live = "**/api/v1/live*";
  await visitor.page.route(live, (route) => route.abort());
  await visitor.open("/");
  await visitor.sees("This page is out of date");
  await visitor.page.unroute(live);
  await visitor.page.locator("#trouble").waitFor({state: "hidden"});
  await visitor.page.route(live, (route) => route.fulfill({status: 401, body: "{}"}));
  await visitor.open("/");
  await visitor.sees("This page is out of date");
  await visitor.context.clearCookies();
  await visitor.sees("Your token");
  await visitor.leave(/ERR_FAILED|status of 401/);
});

test("any number of pages may be open: hidden ones keep no connection", async () => {
  const visitor = await Visitor.login("reader");
  for (let i = 0; i < PAGES; i++) {
    const page = await visitor.context.newPage();
    await page.goto("/");
    await page.getByRole("heading", {level: 1}).waitFor();
    await page.evaluate(() => { // as when another tab comes before it; without a screen there is no before
      Object.defineProperty(document, "hidden", {value: true});
      document.dispatchEvent(new Event("visibilitychange"));
    });
  }
  await visitor.leave();
});

test("a search can be reloaded, and an unknown address shows that it is one", async () => {
  const visitor = await Visitor.login("reader");
  const page = await visitor.context.newPage();
  await page.goto("/find?text=Ada");
  await page.reload();
  await page.getByRole("heading", {level: 1, name: "Search: Ada"}).waitFor();
  await page.goto("/nowhere");
  await page.getByRole("heading", {level: 1, name: "Not found"}).waitFor();
  await page.getByRole("link", {name: "Orders"}).click();
  await page.getByRole("heading", {level: 1, name: "Orders"}).waitFor();
  await visitor.leave();
});

// ---- forbidden actions ----

test("a reader is offered nothing to do, and refused when asking nevertheless", async () => {
  const [id] = await failing(1);
  await behave("payment", "order");
  await waiting();
  const visitor = await Visitor.login("reader");
  for (const path of [`/orders/${id}`, "/failures", "/services", "/workflows", "/waiting", "/alerts", "/dead?queue=orders.rejected"]) {
    await visitor.open(path);
    await visitor.page.locator("main .panel").last().waitFor();
    const buttons = await visitor.page.locator("main button").allTextContents();
    assert.deepEqual(buttons.filter((name) => name !== "Requests"), [], path); // a reader may see requests
  }
  const status = await visitor.page.evaluate(async (asked) => {
    const {csrf} = await (await fetch("/api/v1/me")).json();
    const answer = await fetch(`/api/v1/orders/${asked}/resume`, {method: "POST", headers: {"Content-Type": "application/json", "X-Makegood-CSRF": csrf},
      body: JSON.stringify({reason: "a reader's wish", version: 1})});
    return answer.status;
  }, id);
  assert.equal(status, 403);
  assert.equal((await order(id)).state, "error");
  await visitor.leave(/status of 403/);
});

test("texts of strangers are shown as text and do nothing", async () => {
  const evil = "<img src=x onerror=document.title='taken'>";
  const [id] = await submit(1, {payload: {[evil]: evil}});
  await submit(1, {workflow: "never", payload: {evil}});
  const visitor = await Visitor.login("reader");
  for (const path of [`/orders/${id}`, "/dead?queue=orders.rejected", `/orders/${encodeURIComponent(evil)}`, `/orders?error=${encodeURIComponent(evil)}`]) {
    await visitor.open(path);
    await unfold(visitor);
    assert.equal(await visitor.page.locator("main img, main script").count(), 0, path);
    assert.doesNotMatch(await visitor.page.title(), /taken/);
  }
  await visitor.open(`/orders/${id}`);
  await unfold(visitor);
  await visitor.sees("onerror=");
  await visitor.leave(/status of 40[04]/);
});

// Posts an order. The form is made from the workflow's input; without one the payload is written as JSON.
import {h, bytes, panel} from "/dom.js";
import {commandIdMake, get, mayAct, post} from "/api.js";
import {go} from "/app.js";
import {actButton} from "/act.js";

const THERE_MS = 250, THERE_TRIES = 20; // until a scheduler has taken the order

const SAMPLES = {email: "ada@example.com", mail: "ada@example.com", name: "Ada", customer: "ada", city: "Bern", country: "CH", currency: "CHF", zip: "3000", phone: "+41310000000"};

const isOptional = (name, shape) => name.endsWith("?") || (typeof shape === "string" && shape.endsWith("?"));
const bare = (text) => text.replace(/\?$/, "");

/** A value of this shape, as a text of JSON. */
function sampleOf(name, shape) {
  if (Array.isArray(shape)) return `[${shape.length > 0 ? sampleOf(name, shape[0]) : ""}]`;
  if (typeof shape === "object") {
    return `{${Object.entries(shape).filter(([member, inner]) => !isOptional(member, inner)).map(([member, inner]) => `${JSON.stringify(bare(member))}:${sampleOf(bare(member), inner)}`).join(",")}}`;
  }
  const found = Object.keys(SAMPLES).find((word) => name.toLowerCase().includes(word));
  return {text: JSON.stringify(SAMPLES[found] ?? name), number: "1", boolean: "true", time: JSON.stringify(new Date(Date.now() + 86400000).toISOString().replace(/\.\d+Z$/, "Z"))}[bare(shape)] ?? "null";
}

/** A field of one member: {name, optional, element, value()}; value() is a text of JSON, or "" if the field is empty. Samples are placeholders, so nobody posts them. */
function fieldOf(written, shape) {
  const name = bare(written), optional = isOptional(written, shape), id = `input-${name}`;
  const word = typeof shape === "string" ? bare(shape) : "JSON", sample = sampleOf(name, shape);
  const label = h("label", {for: id}, h("strong", {}, name), ` ${word}${optional ? ", may be left out" : ""}`);
  if (word === "boolean") {
    const control = h("select", {id, name}, [["", ""], ["true", "true"], ["false", "false"]].map(([value, text]) => h("option", {value}, text)));
    return {name, optional, element: h("div", {}, label, control), value: () => control.value};
  }
  const isWord = ["text", "time", "number"].includes(word);
  const control = isWord ? h("input", {id, name, placeholder: `e.g. ${word === "number" ? sample : JSON.parse(sample)}`, inputmode: word === "number" ? "decimal" : null, autocomplete: "off", spellcheck: "false"})
    : h("textarea", {id, name, rows: 4, class: "id", placeholder: `e.g. ${sample}`, spellcheck: "false"});
  return {name, optional, element: h("div", {class: isWord ? null : "is-wide"}, label, control),
    value: () => (control.value.trim() === "" ? "" : word === "text" || word === "time" ? JSON.stringify(control.value) : control.value.trim())};
}

function payloadOf(fields) {
  return `{${fields.map((field) => [field.name, field.value()]).filter(([, value]) => value !== "").map(([name, value]) => `${JSON.stringify(name)}: ${value}`).join(", ")}}`;
}

async function orderAwait(orderId) {
  for (let i = 0; i < THERE_TRIES; i++) {
    try {
      await get(`orders/${encodeURIComponent(orderId)}`);
      break;
    } catch (error) {
      if (error.status !== 404) throw error;
      await new Promise((resolve) => { setTimeout(resolve, THERE_MS); });
    }
  }
  await go(`/orders/${encodeURIComponent(orderId)}`);
}

function form(workflow, input) {
  const id = h("input", {id: "order-id", name: "order_id", placeholder: "if empty, one is made", autocomplete: "off", spellcheck: "false"});
  const whole = input === undefined && h("textarea", {id: "payload", rows: 10, class: "id", spellcheck: "false"}, "{}");
  const fields = input === undefined ? [] : Object.entries(input).map(([name, shape]) => fieldOf(name, shape));
  const text = () => (whole ? whole.value : payloadOf(fields));
  const shown = h("div");
  const missing = async () => {
    const names = fields.filter((field) => !field.optional && field.value() === "").map((field) => field.name);
    return names.length > 0 ? {text: `These fields are still empty: ${names.join(", ")}.`, isImpossible: true} : {};
  };
  const look = () => shown.replaceChildren(bytes("payload", text()));
  const commandId = commandIdMake(); // a second click posts the same order
  look();
  return panel(`Workflow ${workflow.name}, version ${workflow.version}`,
    h("form", {class: "input", oninput: look, onsubmit: (event) => event.preventDefault()},
      h("div", {}, h("label", {for: "order-id"}, h("strong", {}, "order id")), id),
      whole ? h("div", {class: "is-wide"}, h("label", {for: "payload"}, h("strong", {}, "payload"), " JSON"), whole) : fields.map((field) => field.element)),
    h("details", {}, h("summary", {}, "Payload as it is posted"), shown),
    h("p", {class: "row"}, actButton("Post", {isFirst: true, title: `Post an order of ${workflow.name}`, text: "A real order begins: its steps call the services.", prepare: missing,
      act: (reason) => post("orders", {reason, workflow: workflow.name, payload: text(), command_id: commandId, ...(id.value.trim() ? {order_id: id.value.trim()} : {})}),
      done: (answer) => orderAwait(answer.order_id)})));
}

export async function show({main, query}) {
  const {workflows} = await get("workflows");
  const names = [...new Set(workflows.map((row) => row.name))], name = query.get("workflow") ?? names[0];
  main.append(h("h1", {}, "Post an order"));
  if (!mayAct()) { main.append(h("p", {}, "You have read-only access.")); return; }
  if (name === undefined) { main.append(h("p", {class: "soft"}, "No workflow is loaded: makegood workflow load FILE.")); return; }
  const {workflow} = await get(`workflows/${encodeURIComponent(name)}`);
  main.append(h("p", {class: "row"}, names.map((each) => h("a", {class: "button", href: `/post?${new URLSearchParams({workflow: each})}`, "aria-current": each === name ? "true" : null}, each))),
    form(workflow, JSON.parse(workflow.definition).input));
}

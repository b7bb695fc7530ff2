// Dead letters: messages that the broker gave up, and submissions that were rejected.
import {h, ago, bytes, fact, panel, plural} from "/dom.js";
import {get, mayAct, post} from "/api.js";
import {reload} from "/app.js";
import {actButton} from "/act.js";

const QUEUES = {"dead.letters": "Dead-lettered messages", "orders.rejected": "Rejected submissions"};

function letterShow(queue, letter) {
  return h("section", {class: "panel"},
    h("div", {class: "head"}, h("h2", {}, letter.message_id && [h("span", {class: "id"}, letter.message_id), ": "], letter.reason || "No reason recorded"),
      mayAct() && h("p", {class: "row"},
        letter.obstacle ? h("span", {class: "soft"}, `No requeue can succeed: ${letter.obstacle}.`) : actButton("Requeue", {title: "Requeue the message", text: "The message returns to its queue and is processed again. The same failure can occur again.",
          act: (reason) => post("dead/requeue", {queue, mark: letter.mark, reason}), done: reload}),
        actButton("Drop", {isHarm: true, title: "Drop the message permanently", text: "The message is deleted, and its request is never carried out.",
          act: (reason) => post("dead/drop", {queue, mark: letter.mark, reason}), done: reload}))),
    h("dl", {class: "flow"}, [["died", letter.died_at && ago(letter.died_at)], ["type", letter.type], ["queue", letter.queue], ["exchange", letter.exchange],
      ["correlation", letter.correlation_id && letter.correlation_id !== letter.message_id && h("span", {class: "id"}, letter.correlation_id)]]
      .map(([name, value]) => fact(name, value))),
    h("details", {}, h("summary", {}, "Body"), bytes("body", letter.body ?? ""), letter.is_cut && h("p", {class: "soft"}, "The body is cut. In full: makegood dead show.")));
}

export async function show({main, query}) {
  const queue = query.get("queue") in QUEUES ? query.get("queue") : "dead.letters";
  main.append(h("h1", {}, "Dead letters"), h("p", {class: "row"}, Object.entries(QUEUES).map(([name, text]) =>
    h("a", {class: "button", href: `/dead?queue=${name}`, "aria-current": name === queue ? "true" : null}, text))));
  const {letters, is_cut: isCut} = await get("dead", {queue});
  main.append(letters.length === 0 ? panel(QUEUES[queue], h("p", {class: "soft"}, `The queue ${queue} is empty.`))
    : h("div", {}, h("p", {}, `${plural(letters.length, "message", "messages")} in ${queue}${isCut ? ", possibly more" : ""}.`), letters.map((letter) => letterShow(queue, letter))));
}

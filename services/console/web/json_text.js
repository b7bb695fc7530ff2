// JSON as text. Its numbers keep their digits: a browser's own reader would turn 14.00 into 14.

const TOKEN = /\s*(?:([{}[\]:,])|("(?:[^"\\]|\\.)*")|(-?\d[\d.eE+-]*|true|false|null))/y;

/** {kind: "object", members: Map(name => node)}, {kind: "array", items}, or {kind: "word", text}. Throws a SyntaxError. */
export function jsonRead(text) {
  JSON.parse(text); // with the reason for a fault
  TOKEN.lastIndex = 0;
  const next = () => TOKEN.exec(text);
  const read = ([, mark, quoted, word]) => (mark === "{" ? object() : mark === "[" ? array() : {kind: "word", text: quoted ?? word});
  const object = () => {
    const members = new Map();
    for (let token = next(); token[1] !== "}"; token = next()) {
      if (token[1] === ",") continue;
      next(); // the colon
      members.set(JSON.parse(token[2]), read(next()));
    }
    return {kind: "object", members};
  };
  const array = () => {
    const items = [];
    for (let token = next(); token[1] !== "]"; token = next()) if (token[1] !== ",") items.push(read(token));
    return {kind: "array", items};
  };
  return read(next());
}

/** The text of a node; with an indent a member a line. */
export function jsonWrite(node, indent = 0, depth = 0) {
  const gap = (to) => (indent > 0 ? `\n${" ".repeat(indent * to)}` : "");
  const colon = indent > 0 ? ": " : ":";
  if (node.kind === "word") return node.text;
  const parts = node.kind === "array" ? node.items.map((item) => jsonWrite(item, indent, depth + 1))
    : [...node.members].map(([name, member]) => `${JSON.stringify(name)}${colon}${jsonWrite(member, indent, depth + 1)}`);
  const [open, close] = node.kind === "array" ? "[]" : "{}";
  return parts.length === 0 ? open + close : `${open}${parts.map((part) => gap(depth + 1) + part).join(",")}${gap(depth)}${close}`;
}

const step = (pointer, name) => `${pointer}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;

/** The changes from `before` to `after`: [{pointer, before, after}], texts; `before` null: a new member. A value with a removed part is set as a whole. */
export function jsonDiff(before, after, pointer = "") {
  const whole = () => (jsonWrite(before) === jsonWrite(after) ? [] : [{pointer, before: jsonWrite(before), after: jsonWrite(after)}]);
  if (before.kind === "object" && after.kind === "object" && [...before.members.keys()].every((name) => after.members.has(name))) {
    return [...after.members].flatMap(([name, member]) => (before.members.has(name) ? jsonDiff(before.members.get(name), member, step(pointer, name))
      : [{pointer: step(pointer, name), before: null, after: jsonWrite(member)}]));
  }
  if (before.kind === "array" && after.kind === "array" && before.items.length === after.items.length) {
    return after.items.flatMap((item, index) => jsonDiff(before.items[index], item, step(pointer, index)));
  }
  return whole();
}

// The API page, made from /openapi.json.

import { openapi } from "./api.js";
import { byId, make, problemText, setText } from "./elements.js";
import { themeButton } from "./theme.js";

const METHODS = ["get", "post", "put", "patch", "delete", "head", "options"];
const DEEPEST = 4;
let described = {};

/** What a `$ref` of the document stands for; anything else stands for itself. */
function resolve(part) {
  if (!part?.$ref) return part ?? {};
  return part.$ref.slice(2).split("/").reduce((at, name) => at?.[name.replaceAll("~1", "/").replaceAll("~0", "~")], described) ?? {};
}

/** A schema in a few words: `integer or null`, `array of string`. */
function kind(schema) {
  const is = resolve(schema);
  if (schema?.$ref) return is.title ?? schema.$ref.split("/").pop();
  if (is.const !== undefined) return JSON.stringify(is.const);
  if (is.enum) return is.enum.map((value) => JSON.stringify(value)).join(" or ");
  const several = is.anyOf ?? is.oneOf;
  if (several) return [...new Set(several.map(kind))].join(" or ");
  if (is.type === "array") return `array of ${is.items ? kind(is.items) : "anything"}`;
  return [is.type ?? "anything"].flat().join(" or ");
}

/** The words of a description: an empty line starts a paragraph, `code` is code. */
function prose(text, tag = "p") {
  return (text ?? "").split(/\n\s*\n/).filter((part) => part.trim()).map((part) => {
    const pieces = part.split(/(`[^`]+`)/).map((piece) => (/^`.+`$/.test(piece) ? make("code", { text: piece.slice(1, -1) }) : piece));
    return make(tag, {}, ...pieces);
  });
}

const facts = (schema) =>
  Object.entries({ minimum: "at least", maximum: "at most", default: "default", maxLength: "longest", maxItems: "at most, items" })
    .filter(([name]) => resolve(schema)[name] != null)
    .map(([name, words]) => `${words} ${JSON.stringify(resolve(schema)[name])}`)
    .join(", ");

function row(name, schema, isRequired, description) {
  const notes = [isRequired ? "required" : "", facts(schema)].filter(Boolean).join(", ");
  return make(
    "div",
    { class: "field" },
    make("dt", {}, make("code", { text: name }), make("span", { class: "kind", text: kind(schema) })),
    make("dd", {}, ...prose(description ?? resolve(schema).description), ...(notes ? [make("p", { class: "soft", text: notes })] : [])),
  );
}

/** The properties of a schema, and of what they hold, as a list. */
function properties(schema, depth = 0) {
  const is = resolve(schema);
  const inner = is.type === "array" ? resolve(is.items) : is;
  const several = (inner.anyOf ?? inner.oneOf ?? []).filter((part) => resolve(part).properties || resolve(part).type === "array");
  if (several.length) return several.flatMap((part) => properties(part, depth));
  if (!inner.properties || depth >= DEEPEST) return [];
  const rows = Object.entries(inner.properties).map(([name, part]) => {
    const element = row(name, part, false, undefined);
    const parts = properties(part, depth + 1);
    if (parts.length) element.append(make("dd", { class: "inner" }, ...parts));
    return element;
  });
  return [make("dl", { class: "fields-of" }, ...rows)];
}

function parameters(list) {
  if (!list.length) return [];
  const rows = list.map(resolve).map((part) => row(part.name, part.schema, part.required, part.description));
  return [make("h4", { text: "Parameters" }), make("dl", { class: "fields-of" }, ...rows)];
}

function contents(content) {
  return Object.entries(content ?? {}).flatMap(([type, { schema }]) => {
    const inner = properties(schema);
    const summary = [make("code", { text: type }), make("span", { class: "kind", text: schema ? kind(schema) : "" })];
    if (!inner.length) return [make("p", { class: "content" }, ...summary)];
    return [make("details", {}, make("summary", {}, ...summary), ...inner)];
  });
}

function responses(all) {
  const parts = Object.entries(all ?? {}).map(([status, answer]) => {
    const is = resolve(answer);
    return make(
      "div",
      { class: "response" },
      make("p", {}, make("code", { class: status < "4" ? "status-code good" : "status-code", text: status }), ` ${is.description ?? ""}`),
      ...contents(is.content),
    );
  });
  return parts.length ? [make("h4", { text: "Answers" }), ...parts] : [];
}

function operation(path, method, is, shared) {
  const body = resolve(is.requestBody);
  return make(
    "article",
    { class: "card operation", id: `${method}${path.replaceAll(/[^a-z0-9]+/gi, "-")}` },
    make("h3", {}, make("span", { class: `method ${method}`, text: method.toUpperCase() }), make("code", { text: path })),
    make("p", { class: "summary", text: is.summary ?? "" }),
    ...prose(is.description),
    ...parameters([...(shared ?? []), ...(is.parameters ?? [])]),
    ...(body.content ? [make("h4", { text: "Body" }), ...contents(body.content)] : []),
    ...responses(is.responses),
  );
}

function show(document_) {
  described = document_;
  setText(byId("title"), `${described.info.title} ${described.info.version}`);
  byId("description").replaceChildren(...prose(described.info.description ?? described.info.summary, "span"));
  const operations = Object.entries(described.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => operation(path, method, item[method], item.parameters)),
  );
  byId("operations").replaceChildren(...operations);
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

themeButton(byId("theme"));
openapi().then(show, (problem) => {
  byId("operations").replaceChildren(make("p", { class: "notice", text: problemText(problem) }));
});

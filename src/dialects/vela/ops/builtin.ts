import { defined, isJsonObject, type JsonObject, type JsonValue, textAt } from "#lib/base/index.ts";
import { withSubSteps } from "../app.ts";
import { progressOf } from "../workflow/task-object.ts";
import { type Action, done, failure, inBothForms } from "./form.ts";
import { getAt, parsePath, setAt } from "../json-path.ts";
import { suspendOnce } from "./suspend.ts";

const wait: Action = (params) => {
  if (params["continue"] === true) return done();
  const message = textAt(params, "message");
  return { kind: "wait", ...defined({ message }) };
};

/** The step's own reasons for an end are told by the workflow. */
const end =
  (kind: "break" | "fail"): Action =>
  (params, scope) => {
    if (params["unlessConditioned"] === true && isConditioned(scope)) return done();
    return { kind, message: textAt(params, "message") ?? "" };
  };

/** A later step decides by its condition what the failure means. */
function isConditioned({ app, step }: Parameters<Action>[1]): boolean {
  const steps = withSubSteps(app.workflow.steps);
  const later = steps.slice(steps.findIndex(({ name }) => name === step.name) + 1);
  return later.some((each) => each.if?.includes(step.name) === true);
}

const message: Action = (params, scope) => {
  scope.say(textAt(params, "message") ?? "");
  return done();
};

const variable: Action = (params, { variables }) => {
  const path = textAt(params, "path") ?? "";
  const [name, ...rest] = parsePath(path) ?? [];
  if (typeof name !== "string") return failure(`path "${path}" is not the path of a variable`);
  if (params["method"] === "Put") {
    const { value } = params;
    if (value === undefined) return failure("value is missing");
    variables.set(name, rest.length === 0 ? value : setAt(variables.get(name), rest, value));
    return done();
  }
  const value = getAt(variables.get(name), rest);
  return value === undefined
    ? failure(`variable ${path} does not exist`)
    : done({ value }, variables.isSensitive(name));
};

/** Begins the keys of notes with patches of components. */
export const patchNote = "patch ";

const ownMembers = new Set(["#do", "#provider", "type", "component", "path", "value"]);

/** Of the seed: variables for later steps, or a patch of a component. */
const exportValue: Action = (params, { variables, delivery, notes, path: at }) => {
  const { value } = params;
  if (params["type"] === "patch") {
    const component = textAt(params, "component");
    if (component === undefined || !isJsonObject(value)) return failure("a patch needs component and value");
    // Later passes read the note.
    notes.set(`${patchNote}${at}`, { component, value });
    delivery.patchComponent(component, value);
    return done();
  }
  const path = textAt(params, "path");
  if (path !== undefined && value !== undefined) {
    variables.set(path, value);
    return done();
  }
  for (const [name, member] of variablesIn(params, value)) variables.set(name, member);
  return done();
};

function variablesIn(params: JsonObject, value: JsonValue | undefined): readonly (readonly [string, JsonValue])[] {
  const source = isJsonObject(value) ? value : params;
  const skipped = isJsonObject(value) ? new Set<string>() : ownMembers;
  return Object.entries(source).flatMap(([name, member]) =>
    member === undefined || skipped.has(name) ? [] : [[name, member] as const],
  );
}

const finished: Action = ({ object }) => {
  if (!isJsonObject(object)) return failure("object: expected object");
  const progress = progressOf(object);
  const told = "message" in progress && progress.message !== "" ? { message: progress.message } : {};
  const isFailed = progress.kind === "failed" || progress.kind === "stopped";
  return done({ finished: progress.kind === "succeeded", failed: isFailed, ...told });
};

export const builtinProviders = inBothForms("builtin", {
  wait,
  break: end("break"),
  fail: end("fail"),
  message,
  suspend: (params, scope) => suspendOnce(scope, params),
  var: variable,
  export: exportValue,
  finished,
});

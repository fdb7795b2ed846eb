import { defined, err, isJsonObject, type JsonObject, type JsonValue, ok } from "#lib/base/index.ts";
import type { Cue, CueTask } from "#kernel/template/index.ts";
import { getAt, parsePath } from "../../json-path.ts";

// Templates of tests are JSON, so that no thread is needed: a list of actions, or an `output`. A text `<path>` in a
// value stands for what is at the path: of an earlier action's result, of `parameter` or `context`.

export interface FakeAction {
  readonly path: string;
  /** `builtin/wait`. */
  readonly use: string;
  readonly value?: JsonObject;
  readonly attributes?: readonly string[];
}

export interface FakeTemplate {
  readonly actions?: readonly FakeAction[];
  readonly output?: JsonObject;
  readonly conflict?: string;
}

export const template = (fake: FakeTemplate): string => JSON.stringify(fake);

function valueOf(task: CueTask): JsonObject {
  const results = task.done.map(({ path, result }) => [path, result ?? {}] as const);
  const own: JsonObject = task.text.startsWith("output: ") ? nativeValue(task.text) : {};
  return { ...own, ...Object.fromEntries(results), parameter: task.parameter, context: task.context };
}

/** Native steps show their value as CUE, which is JSON with names. */
function nativeValue(text: string): JsonObject {
  const [output = "", outputs = ""] = text.split("\n");
  return {
    output: JSON.parse(output.slice("output: ".length)) as JsonValue,
    outputs: JSON.parse(outputs.slice("outputs: ".length)) as JsonValue,
  };
}

function filled(value: JsonValue, scope: JsonObject): JsonValue | undefined {
  if (typeof value === "string" && value.startsWith("<")) return getAt(scope, parsePath(value.slice(1, -1)) ?? []);
  if (Array.isArray(value)) return value.map((item: JsonValue) => filled(item, scope) ?? null);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, item === undefined ? item : filled(item, scope)]),
  );
}

const problem = (message: string) => ({ kind: "template" as const, message, problems: [] });

function lookUp(scope: JsonObject, expression: string) {
  if (/^".*"$/.test(expression)) return { exists: true, value: JSON.parse(expression) as JsonValue, problems: [] };
  const value = getAt(scope, parsePath(expression) ?? []);
  return { exists: value !== undefined, ...defined({ value }), problems: [] };
}

const rejected = (): Promise<never> => Promise.reject(new Error("not part of this fake"));

export const fakeCue: Cue = {
  render: rejected,
  health: rejected,
  async next(task) {
    const fake = JSON.parse(task.text) as FakeTemplate;
    if (fake.conflict !== undefined) return err(problem(fake.conflict));
    const { actions = [], output } = fake;
    const next = actions.find(({ path }) => !task.done.some((done) => done.path === path));
    const hasActions = actions.length > 0;
    const scope = valueOf(task);
    const objects =
      output === undefined ? {} : { objects: { output: filled(output, scope) as JsonObject, outputs: {} } };
    if (next === undefined) return ok({ hasActions, ...objects });
    const [provider = "", action = ""] = next.use.split("/");
    const value = filled(next.value ?? {}, scope) ?? {};
    const { path, attributes = [] } = next;
    return ok({ hasActions, action: { path, provider, do: action, value, incomplete: [], attributes } });
  },
  lookup: async (task, expressions) => ok(expressions.map((expression) => lookUp(valueOf(task), expression))),
  async evaluateBoolean(expression, scope) {
    try {
      // CUE's conditions of tests are JavaScript, too.
      // oxlint-disable-next-line typescript/no-implied-eval
      const run = new Function("scope", `with (scope) { return ${expression}; }`) as (scope: JsonObject) => unknown;
      const answer = run(scope);
      return typeof answer === "boolean" ? ok(answer) : err(problem(`${expression}: not a bool`));
    } catch (thrown) {
      return err(problem(String(thrown)));
    }
  },
  async references(expression) {
    const bare = expression.replace(/"[^"]*"/g, (text) => (/^"[\w-]+"$/.test(text) ? text : '""'));
    return ok([...bare.matchAll(/[A-Za-z_$][\w$]*(?:\.[\w$]+|\["[^"]+"\])*/g)].map(([found]) => found));
  },
  patch: rejected,
  schema: rejected,
  vet: rejected,
  upgrade: rejected,
  readDefinition: rejected,
  writeDefinition: rejected,
};

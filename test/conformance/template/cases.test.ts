import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readYaml } from "#lib/yaml/index.ts";
import type { TemplateFailure, TemplateFunctions, TemplateHost, TemplatePlan } from "#kernel/template/index.ts";
import { realHost } from "#kernel/template/testing/index.ts";
import { root } from "#test/support/slipway.ts";

// The tables of the Go module's own tests, asked of the WebAssembly module through everything that users ask it through.

let host: TemplateHost;

beforeAll(async () => {
  host = await realHost();
});

afterAll(() => host.close());

function casesOf<T>(name: string): readonly T[] {
  const read = readYaml(readFileSync(join(root, "go/testdata", name), "utf8"));
  if (!read.ok) throw new Error(`${name}: ${read.error[0]?.message}`);
  // The shape of these files is that of the interfaces below; what lacks a member fails its test.
  const cases = read.value.documents[0]?.value as unknown as readonly T[];
  if (cases.length < 5) throw new Error(`${name} has ${cases.length} cases`);
  return cases;
}

/** What is looked at of a failure. */
interface ExpectedFailure {
  /** What stands behind `error rendering template: `. */
  readonly message?: string;
  /** The same, where the limit is another one outside of WebAssembly. */
  readonly messageOfWasm?: string;
  readonly failsWith?: string;
  readonly code?: string;
  readonly line?: number;
  readonly column?: number;
  readonly rendered?: string;
  readonly problems?: readonly string[];
  readonly paths?: readonly string[];
}

function judge(expected: ExpectedFailure, { message, problems, rendered }: TemplateFailure): void {
  const wanted = expected.message ?? expected.messageOfWasm;
  if (wanted !== undefined) expect(message).toBe(`error rendering template: ${wanted}`);
  if (expected.failsWith !== undefined) expect(message).toContain(expected.failsWith);
  const { code, line, column } = expected;
  expect(problems[0]).toMatchObject(JSON.parse(JSON.stringify({ code, line, column })) as object);
  if (expected.rendered !== undefined) expect(rendered).toBe(expected.rendered);
  if (expected.problems !== undefined) expect(problems.map((problem) => problem.message)).toEqual(expected.problems);
  if (expected.paths !== undefined) expect(problems.map((problem) => problem.path)).toEqual(expected.paths);
}

/** A document with one value of an environment, as it is written in YAML. */
const documentOf = (value: string): string =>
  `x: &anchored 0755\nname: n\ntasks: [{name: t, worker: w, actions: [{name: a, image: i, environment: {VALUE: ${value}}}]}]`;

const valueOf = (plan: TemplatePlan): string | undefined => plan.tasks[0]?.actions[0]?.environment["VALUE"];

interface FunctionCase {
  readonly call: string;
  readonly functions?: TemplateFunctions;
  readonly gives?: string;
  readonly fails?: string;
}

describe("functions", () => {
  test.each(casesOf<FunctionCase>("functions.yaml"))("$call", async ({ call, functions = {}, gives, fails = "" }) => {
    const rendered = await host.render({
      id: "wf",
      text: documentOf(`{{ ${call} | toString | quote }}`),
      values: {},
      functions,
    });
    if (gives === undefined) expect(rendered.ok ? "" : rendered.error.message.slice(-fails.length)).toBe(fails);
    else expect(rendered.ok ? valueOf(rendered.value) : rendered.error.message).toBe(gives);
  });

  test.each([
    ..."now date dateInZone date_in_zone dateModify date_modify htmlDate htmlDateInZone".split(" "),
    ..."randAlphaNum randAlpha randAscii randNumeric randBytes uuidv4 env expandenv getHostByName".split(" "),
  ])("%s is there only when it is asked for", async (name) => {
    const text = `{{ if false }}{{ ${name} }}{{ end }}`;
    expect(await host.parse({ id: "wf", text })).toMatchObject({
      ok: false,
      error: { problems: [{ message: `template: workflow-template:1: function "${name}" not defined` }] },
    });
    expect(await host.parse({ id: "wf", text, functions: { allowNonhermetic: true } })).toEqual({
      ok: true,
      value: undefined,
    });
  });

  test("no function sees the environment or a network", async () => {
    const text = documentOf('"{{ env "PATH" }}{{ expandenv "$HOME" }}{{ getHostByName "localhost" }}"');
    const rendered = await host.render({ id: "wf", text, values: {}, functions: { allowNonhermetic: true } });
    expect(rendered.ok ? valueOf(rendered.value) : rendered.error.message).not.toContain("/");
  });
});

describe("a Hardware with every field set, compared with a released renderer", () => {
  const read = readYaml(readFileSync(join(root, "go/testdata/hardware.yaml"), "utf8"));
  const [document] = read.ok ? read.value.documents : [];
  if (document === undefined) throw new Error("hardware.yaml cannot be read");
  const { hardware, cases } = document.value as unknown as {
    readonly hardware: object;
    readonly cases: readonly FunctionCase[];
  };
  test.each(cases)("$call", async ({ call, gives }) => {
    const text = documentOf(`{{ ${call} | toString | quote }}`);
    const rendered = await host.render({ id: "wf", text, values: {}, hardware });
    expect(rendered.ok ? valueOf(rendered.value) : rendered.error.message).toBe(gives);
  });
});

describe("scalars of a document keep their text", () => {
  interface Scalar {
    readonly written: string;
    readonly read: string;
  }
  test.each(casesOf<Scalar>("scalars.yaml"))("$written", async ({ written, read }) => {
    const rendered = await host.render({ id: "wf", text: documentOf(written), values: {} });
    expect(rendered.ok ? valueOf(rendered.value) : rendered.error.message).toBe(read);
  });
});

describe("templates of shape A", () => {
  interface RenderCase extends ExpectedFailure {
    readonly title: string;
    readonly text: string;
    readonly values?: Readonly<Record<string, string>>;
    readonly hardware?: object;
    readonly plan?: object;
  }
  test.each(casesOf<RenderCase>("render.yaml"))(
    "$title",
    async ({ title, text, values = {}, hardware, plan, ...wanted }) => {
      const rendered = await host.render({ id: "wf", text, values, hardware });
      if (plan !== undefined) expect(rendered).toMatchObject({ ok: true, value: plan });
      else if (rendered.ok) expect.fail(`${title} is rendered`);
      else judge(wanted, rendered.error);
    },
  );
});

describe("templates of shape B", () => {
  interface ActionsCase extends ExpectedFailure {
    readonly title: string;
    readonly spec: object;
    readonly params?: Readonly<Record<string, string>>;
    readonly workflow?: { readonly name: string; readonly namespace: string };
    readonly hardware?: object;
    readonly plan?: object;
  }
  test.each(casesOf<ActionsCase>("actions.yaml"))("$title", async ({ title, plan, spec, hardware, ...rest }) => {
    const { params = {}, workflow = { name: "wf", namespace: "default" }, ...wanted } = rest;
    const rendered = await host.renderActions({ id: "wf", spec, hardware, params, workflow });
    if (plan !== undefined) expect(rendered).toMatchObject({ ok: true, value: plan });
    else if (rendered.ok) expect.fail(`${title} is rendered`);
    else judge(wanted, rendered.error);
  });
});

describe("CUE", () => {
  interface CueCase extends ExpectedFailure {
    readonly title: string;
    readonly text: string;
    readonly context?: object;
    readonly path?: string;
    readonly value?: unknown;
  }
  test.each(casesOf<CueCase>("cue.yaml"))("$title", async ({ title, text, context, path = "", value, ...wanted }) => {
    const evaluated = await host.evaluateCue({ text, context, path });
    if (value !== undefined) expect(evaluated).toEqual({ ok: true, value });
    else if (evaluated.ok) expect.fail(`${title} has a value`);
    else judge(wanted, evaluated.error);
  });
});

describe("CUE tasks", () => {
  interface TaskCase {
    readonly title: string;
    readonly operation: string;
    readonly ask: object;
    readonly value?: unknown;
    readonly failsWith?: string;
    readonly problems?: readonly object[];
    /** Of all actions, each executed. */
    readonly paths?: readonly string[];
    /** What the value must not have. */
    readonly absent?: readonly (string | number)[];
  }
  interface TaskAnswer {
    readonly value?: { readonly action?: { readonly path: string } };
    readonly failure?: { readonly message: string; readonly problems: readonly object[] };
  }

  async function ask(operation: string, question: object): Promise<TaskAnswer> {
    const asked = await host.ask(JSON.stringify({ operation, ...question }));
    if (!asked.ok) throw new Error(asked.error.message);
    return JSON.parse(asked.value) as TaskAnswer;
  }

  async function walk(operation: string, question: object): Promise<readonly string[]> {
    const paths: string[] = [];
    while (paths.length < 100) {
      const done = paths.map((path) => ({ path, result: { done: true } }));
      const { value } = await ask(operation, { ...question, done });
      if (value?.action === undefined) break;
      paths.push(value.action.path);
    }
    return paths;
  }

  test.each(casesOf<TaskCase>("cue-tasks.yaml"))("$title", async ({ operation, ask: question, ...wanted }) => {
    if (wanted.paths !== undefined) {
      expect(await walk(operation, question)).toEqual(wanted.paths);
      return;
    }
    const { value, failure } = await ask(operation, question);
    if (wanted.value !== undefined) {
      if (typeof wanted.value === "object") expect(value).toMatchObject(wanted.value as object);
      else expect(value).toEqual(wanted.value);
      if (wanted.absent !== undefined) expect(value).not.toHaveProperty(wanted.absent as (string | number)[]);
      return;
    }
    expect(failure?.message).toContain(wanted.failsWith ?? "");
    if (wanted.problems !== undefined) expect(failure?.problems).toMatchObject(wanted.problems);
  });
});

test("the syntax of a template is judged without its data and its document", async () => {
  expect(await host.parse({ id: "wf", text: "{{ .not.there }}: [" })).toEqual({ ok: true, value: undefined });
  const message = "template: workflow-template:2: unclosed action";
  expect(await host.parse({ id: "wf", text: "a\n{{ .b" })).toEqual({
    ok: false,
    error: {
      kind: "template",
      message: `error rendering template: failed to parse template with ID wf: err: ${message}`,
      problems: [{ code: "template-syntax", message, line: 2 }],
    },
  });
});

import { afterAll, beforeAll, expect, test } from "vitest";
import type { ReviewParts } from "#kernel/dialect/index.ts";
import { ApiError } from "#kernel/model/index.ts";
import { realHost } from "#kernel/template/testing/index.ts";
import { library } from "./library.ts";
import { reviewDefinition, reviewRun } from "./review.ts";

let templates: Awaited<ReturnType<typeof realHost>>;
beforeAll(async () => {
  templates = await realHost();
});
afterAll(() => templates.close());

/** Machines that run tests are slow at times. */
const unhurried = (): ReviewParts["templates"] =>
  new Proxy(templates, {
    get(target, name) {
      if (name === "ask") return (question: string, signal?: AbortSignal) => target.ask(question, signal, 60_000);
      return Reflect.get(target, name) as unknown;
    },
  });

const components = [{ name: "web", type: "webservice", properties: { image: "nginx" }, traits: [{ type: "scaler" }] }];
const none = { apiVersion: "v1", kind: "List", metadata: { resourceVersion: "1" }, items: [] };
const client = { get: () => Promise.reject(new Error("no")), list: () => Promise.resolve(none) };

test("bad input: template syntax error: the definition is stored, with a warning of the place", async () => {
  const found = await reviewDefinition(
    { spec: { schematic: { cue: { template: "output: {\n  a: [\n}\n" } } } },
    { client, templates: unhurried() },
  );
  expect(found.causes).toEqual([]);
  expect(found.warnings).toEqual([expect.stringMatching(/^spec\.schematic\.cue\.template: .*\d+:\d+/)]);
});

test("definitions are found in the namespace of the settings, and conditions draw a warning if runs suspend", async () => {
  const asked: string[] = [];
  const parts = {
    client: {
      get: (ref: { namespace?: string }) => {
        asked.push(ref.namespace ?? "");
        return Promise.reject(new ApiError("NotFound", "not found"));
      },
      list: ({ kind }: { kind: string }) =>
        kind === "Package" ? Promise.resolve(none) : Promise.reject(new Error("not asked")),
    } as unknown as ReviewParts["client"],
    templates: unhurried(),
    options: { settings: { systemDefinitionNamespace: "shared", suspendOnFailure: true } },
  };
  const workflow = { steps: [{ name: "a", type: "suspend", if: "always" }] };
  const found = await reviewRun(
    { kind: "Application", metadata: { namespace: "default" }, spec: { components, workflow } },
    parts,
  );
  expect(new Set(asked)).toEqual(new Set(["default", "shared"]));
  expect(found.warnings.join()).toContain("because runs suspend on failure here");
});

test("templates that come with Slipway are stored without a question to CUE", async () => {
  const asked: string[] = [];
  const templates = { ask: (question: string) => Promise.reject(new Error(String(asked.push(question)))) };
  const parts = { client, templates: templates as unknown as ReviewParts["templates"] };
  const review = async (template: string) =>
    (await reviewDefinition({ spec: { schematic: { cue: { template } } } }, parts)).warnings;
  for (const { template } of await library.definitions()) expect(await review(template)).toEqual([]);
  expect(asked).toEqual([]);
  expect(await review("parameter: {}")).toEqual([expect.stringContaining("the template was not checked")]);
  expect(asked).not.toEqual([]);
});

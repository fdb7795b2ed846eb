import { afterAll, beforeAll, expect, test } from "vitest";
import type { TemplateHost } from "./template-host.ts";
import { realHost } from "./testing/index.ts";

let host: TemplateHost;

beforeAll(async () => {
  host = await realHost({ limits: { maxThreads: 1, budgetMs: 55_000 } });
});

afterAll(() => host.close());

const good = (name: string) => ({
  id: "wf",
  text: "name: {{ .name }}\ntasks: [{name: a, worker: w, actions: [{name: b, image: i}]}]",
  values: { name },
});

test.each([
  ["a loop without end", "{{ range 9000000000000000 }}{{ end }}"],
  [
    "a loop that writes nothing for longer than anybody waits",
    '{{ range until 1000 }}{{ range until 1000 }}{{ range until 1000 }}{{ $found := regexMatch "a*b" (repeat 100 "a") }}{{ end }}{{ end }}{{ end }}',
  ],
])("%s ends its thread when its time is over, and costs nobody else", async (_what, text) => {
  const impatient = await realHost({ limits: { maxThreads: 1, budgetMs: 2000 } });
  try {
    const runaway = impatient.render({ id: "wf", text, values: {} });
    const behind = Array.from({ length: 5 }, (_, at) => impatient.render(good(`behind-${at}`)));
    expect(await runaway).toEqual({
      ok: false,
      error: { kind: "time", message: "the template ran longer than 2 s", problems: [] },
    });
    for (const [at, rendered] of (await Promise.all(behind)).entries())
      expect(rendered).toMatchObject({ ok: true, value: { name: `behind-${at}` } });
  } finally {
    await impatient.close();
  }
});

test.each([
  ["lists in lists", `x: ${"[".repeat(9000)}${"]".repeat(9000)}`, "template must have at least one task"],
  ["lists in lists beyond what YAML may have", "[".repeat(12_000), "exceeded max depth of 10000"],
  ["brackets in an expression", `{{ ${"(".repeat(20_000)}1${")".repeat(20_000)} }}`, "max expression depth exceeded"],
  ["blocks in blocks", `${"{{ if true }}".repeat(5000)}${"{{ end }}".repeat(5000)}`, "name cannot be empty"],
  ["templates in templates", '{{ define "r" }}{{ template "r" }}{{ end }}{{ template "r" }}', "maximum template depth"],
  ["aliases of aliases", "{{ fromYaml .aliases }}", "document contains excessive aliasing"],
])("%s, thousands deep, are a failure like any other", async (_what, text, words) => {
  const rendered = await host.render({ id: "wf", text, values: { aliases: aliases() } });
  expect(rendered).toMatchObject({ ok: false, error: { kind: "template" } });
  expect(JSON.stringify(rendered)).toContain(words);
});

/** Eight levels of lists, each nine times the one before. */
function aliases(): string {
  const levels = Array.from({ length: 8 }, (_, at) => `l${at + 1}: &l${at + 1} [${`*l${at},`.repeat(9)}]`);
  return ["l0: &l0 [x]", ...levels].join("\n");
}

test.each([
  ["one text of a gigabyte", '{{ repeat 1000000000 "x" }}'],
  ["a list that grows for ever, which lets Go collect and sleep", "{{ range until 1000000000 }}{{ end }}"],
])("%s ends its thread for want of memory, and costs nobody else", async (_what, text) => {
  const runaway = host.render({ id: "wf", text, values: {} });
  const behind = host.render(good("behind"));
  expect(await runaway).toEqual({
    ok: false,
    error: { kind: "memory", message: "the template needs more than 512 MB", problems: [] },
  });
  expect(await behind).toMatchObject({ ok: true, value: { name: "behind" } });
});

test("a hundred templates at once are rendered, each with its own values, in memory that is bounded", async () => {
  const many = await realHost({ limits: { maxThreads: 2, maxQuestions: 40, maxKeptBytes: 64 * 1024 * 1024 } });
  try {
    const wide = (at: number) => ({ ...good(`${at}`), text: `${good("").text}\n# {{ repeat 200000 "x" }}` });
    const before = process.memoryUsage().rss;
    const rendered = await Promise.all(Array.from({ length: 100 }, (_, at) => many.render(wide(at))));
    expect(rendered.map((each) => (each.ok ? each.value.name : each.error.message))).toEqual(
      Array.from({ length: 100 }, (_, at) => `${at}`),
    );
    // Two threads with their instances, and the module's code.
    expect(process.memoryUsage().rss - before).toBeLessThan(600 * 1024 * 1024);
  } finally {
    await many.close();
  }
});

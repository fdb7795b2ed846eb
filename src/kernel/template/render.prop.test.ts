import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runs } from "#test/support/property-runs.ts";
import type { TemplateHost } from "./template-host.ts";
import { realHost } from "./testing/index.ts";

let host: TemplateHost;
let other: TemplateHost;

beforeAll(async () => {
  [host, other] = await Promise.all([realHost(), realHost({ limits: { maxThreads: 1, maxQuestions: 50 } })]);
});

afterAll(() => Promise.all([host.close(), other.close()]));

const part = fc.constantFrom(
  "{{ range $k, $v := .map }}{{ $k }}{{ $v }}{{ end }}",
  "{{ toYaml .hardware | b64enc }}",
  '{{ keys .hardware | sortAlpha | join "," }}',
  "{{ .hardware }}",
  "{{ sha256sum .a }}",
  "{{ .a | upper | quote }}",
  "{{ .missing }}",
  "{{ if }}",
  "name: {{ .a }}\n",
  "tasks: [{name: t, worker: w, actions: [{name: b, image: i}]}]\n",
  "- ",
  "plain ",
);

const request = fc.record({
  id: fc.constant("wf"),
  text: fc.array(part, { maxLength: 6 }).map((parts) => parts.join("")),
  values: fc.record({ a: fc.string() }),
  hardware: fc.record({ spec: fc.dictionary(fc.string(), fc.string(), { maxKeys: 8 }) }),
});

test("the same template over the same data has the same plan or failure, in whichever instance", async () => {
  await fc.assert(
    fc.asyncProperty(request, async (asked) => {
      const first = await host.render(asked);
      expect(await host.render(asked)).toEqual(first);
      expect(await other.render(asked)).toEqual(first);
    }),
    { numRuns: runs(200) },
  );
});

test("no text ends an instance", async () => {
  const anything = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 200 }),
    fc.string({ unit: "binary", maxLength: 200 }),
  );
  await fc.assert(
    fc.asyncProperty(anything, fc.boolean(), async (text, isExpression) => {
      const rendered = await host.render({
        id: "wf",
        text: isExpression ? `{{ ${text} }}` : text,
        values: { a: text },
      });
      expect(rendered.ok ? "template" : rendered.error.kind).toBe("template");
    }),
    { numRuns: runs(300) },
  );
});

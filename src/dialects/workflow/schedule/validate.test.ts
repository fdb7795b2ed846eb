import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import { documents } from "../document.ts";
import { job } from "../testing/harness.ts";
import { scheduleAdmission } from "./admission.ts";

const workflowTemplate = { spec: { steps: { work: job() } } };
const document = (spec: JsonObject, name = "tick"): JsonObject => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind: "ScheduledWorkflow",
  metadata: { name, namespace: "default" },
  spec,
});
/** Why a specification is refused, as `field: message`. */
const causes = (spec: JsonObject, name?: string): readonly string[] =>
  scheduleAdmission.validate(document(spec, name)).causes.map(({ field, message }) => `${field}: ${message}`);
const scheduled = (schedule: string, more: JsonObject = {}) => causes({ schedule, workflowTemplate, ...more });

test.each([["*/5 * * * *"], ["0 9 * * mon-fri"], ["0 0 1 jan ?"], ["@hourly"], ["@yearly"], ["@midnight"]])(
  "%s is a schedule",
  (schedule) => {
    expect(scheduled(schedule)).toEqual([]);
    expect(scheduled(schedule, { timeZone: "America/Los_Angeles" })).toEqual([]);
  },
);

const macros = "@yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly";
test.each([
  ["61 * * * *", 'minute: expected values from 0 to 59, found "61"'],
  ["0 25 * * *", 'hour: expected values from 0 to 23, found "25"'],
  ["0 0 * * mondy", 'day of week: expected values from 0 to 6 or names such as mon, found "mondy"'],
  ["* * * *", 'expected exactly 5 fields, found 4: "* * * *"'],
  ["", 'expected exactly 5 fields, found 0: ""'],
  ["TZ=Asia/Tokyo 0 9 * * *", "a schedule cannot name a time zone; use timeZone"],
  ["CRON_TZ=Asia/Tokyo 0 9 * * *", "a schedule cannot name a time zone; use timeZone"],
  ["@every 5m", `expected five fields or one of ${macros}, found "@every 5m"`],
  ["@fortnightly", `expected five fields or one of ${macros}, found "@fortnightly"`],
])("%j is refused with what was expected", (schedule, message) => {
  expect(scheduled(schedule)).toEqual([`spec.schedule: ${message}`]);
});

test("of several schedules each is judged, and the zone beside them", () => {
  expect(causes({ schedules: ["0 0 * * *", "x", "@never"], timeZone: "Mars/Olympus", workflowTemplate })).toEqual([
    'spec.timeZone: unknown time zone "Mars/Olympus", expected a name such as Europe/Berlin',
    'spec.schedules[1]: expected exactly 5 fields, found 1: "x"',
    expect.stringMatching(/^spec\.schedules\[2\]: expected five fields or one of /),
  ]);
});

test("exactly one of schedule and schedules is there", () => {
  expect(causes({ workflowTemplate })).toEqual(["spec.schedule: one of schedule and schedules is required"]);
  expect(causes({ schedule: "@daily", schedules: ["@daily"], workflowTemplate })).toEqual([
    "spec: exactly one of schedule and schedules, found both",
  ]);
});

test("a schedule that is never due is warned about", () => {
  const { causes: refused, warnings } = scheduleAdmission.validate(
    document({ schedule: "0 0 31 2 *", workflowTemplate }),
  );
  expect([refused, warnings]).toEqual([[], ["spec.schedule: is never due: no such day"]]);
});

describe("the template", () => {
  test("is checked as a workflow, at its place, beside all other problems", () => {
    const steps = { one: job({ dependencies: ["too"] }), two: { container: { image: "x" }, wait: { seconds: 1 } } };
    expect(scheduled("x", { workflowTemplate: { spec: { steps, parallelism: 0 } } })).toEqual([
      expect.stringMatching(/^spec\.schedule: /),
      "spec.workflowTemplate.spec.parallelism: must be a positive integer, found 0",
      expect.stringMatching(/^spec\.workflowTemplate\.spec\.steps\.two: exactly one of /),
      'spec.workflowTemplate.spec.steps.one.dependencies[0]: no step "too", did you mean "two"',
    ]);
  });

  test("is required, and has steps", () => {
    expect(causes({ schedule: "@daily" })).toEqual([expect.stringMatching(/^spec\.workflowTemplate: /)]);
    expect(scheduled("@daily", { workflowTemplate: {} })).toEqual([
      expect.stringMatching(/^spec\.workflowTemplate\.spec: /),
    ]);
    expect(scheduled("@daily", { workflowTemplate: { spec: {} } })).toEqual([
      expect.stringMatching(/^spec\.workflowTemplate\.spec/),
    ]);
  });

  test("has an argument for every required parameter: nobody is there who could give it", () => {
    const spec = { params: [{ name: "target", required: true }], steps: { work: job() } };
    expect(scheduled("@daily", { workflowTemplate: { spec } })).toEqual([
      expect.stringMatching(/^spec\.workflowTemplate\.spec\.arguments.*target/),
    ]);
    expect(scheduled("@daily", { workflowTemplate: { spec: { ...spec, arguments: { target: "x" } } } })).toEqual([]);
  });

  test("may name the time it runs for, and nothing else of its schedule", () => {
    const gate = (when: string) =>
      scheduled("@daily", { workflowTemplate: { spec: { steps: { work: job({ when }) } } } });
    expect(gate('timestamp(schedule.time) > timestamp("2026-01-01T00:00:00Z")')).toEqual([]);
    expect(gate('schedule.name == "x"')).toEqual([
      'spec.workflowTemplate.spec.steps.work.when: column 1: no schedule field "name", did you mean "time"',
    ]);
  });
});

test.each([
  [{ catchUp: "Some" }, /^spec\.catchUp: /],
  [{ catchUpLimit: 0 }, /^spec\.catchUpLimit: /],
  [{ concurrencyPolicy: "Wait" }, /^spec\.concurrencyPolicy: /],
  [{ startingDeadlineSeconds: -1 }, /^spec\.startingDeadlineSeconds: /],
  [{ jitterSeconds: 1.5 }, /^spec\.jitterSeconds: /],
  [{ suspend: "yes" }, /^spec\.suspend: /],
])("%j is refused", (more, message) => {
  expect(scheduled("@daily", more)).toEqual([expect.stringMatching(message)]);
});

test("a name leaves room for the time in the names of runs", () => {
  expect(causes({ schedule: "@daily", workflowTemplate }, "a".repeat(230))).toEqual([]);
  expect(causes({ schedule: "@daily", workflowTemplate }, "a".repeat(231))).toEqual([
    "metadata.name: must be no more than 230 characters",
  ]);
});

test("a change of metadata is admitted, whatever the specification is", () => {
  const old = document({ schedule: "x" });
  expect(scheduleAdmission.validate({ ...old, metadata: { name: "tick", labels: { a: "b" } } }, old).causes).toEqual(
    [],
  );
});

test("who only holds a schedule up does not take it over", () => {
  const acts = (spec: JsonObject) => scheduleAdmission.actsOn?.(document(spec));
  expect(acts({ schedule: "@daily", suspend: true })).toEqual(acts({ schedule: "@daily" }));
  expect(acts({ schedule: "@daily" })).not.toEqual(acts({ schedule: "@hourly" }));
});

describe("in a file", () => {
  const lint = (text: string): readonly string[] => {
    const file = readYaml(text);
    if (!file.ok) throw new Error("the example is no YAML");
    return file.value.documents
      .flatMap((source) => documents.lint(source))
      .map(({ position, severity, path, message }) => `${position?.line}: ${severity}: ${path}: ${message}`);
  };

  test("the example has nothing to be told of", async () => {
    expect(lint(await readFile("examples/workflow/nightly.yaml", "utf8"))).toEqual([]);
  });

  test("problems have their line, those of the template and of fields that do not exist too", async () => {
    const example = await readFile("examples/workflow/nightly.yaml", "utf8");
    const lines = example.split("\n");
    const lineOf = (part: string) => lines.findIndex((line) => line.includes(part)) + 1;
    const wrong = example
      .replace("30 2", "30 32")
      .replace("[dump]", "[dump, dmp]")
      .replace("jitterSeconds", "jiterSeconds")
      .replace("activeDeadlineSeconds: 3600", "parallelism: 1");
    expect(lint(wrong)).toEqual([
      `${lineOf("jitterSeconds")}: error: spec.jiterSeconds: is not a field of this kind`,
      `${lineOf("30 2")}: error: spec.schedule: hour: expected values from 0 to 23, found "32"`,
      `${lineOf("[dump]")}: error: spec.workflowTemplate.spec.steps.verify.dependencies[1]: no step "dmp", did you mean "dump"`,
    ]);
    expect(lint(example.replace("activeDeadlineSeconds: 3600", "parallelism: 1"))).toEqual([
      expect.stringMatching(/^\d+: warning: spec\.workflowTemplate\.spec: no deadline and no timeout/),
    ]);
  });
});

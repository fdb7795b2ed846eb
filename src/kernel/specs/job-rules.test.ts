import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { noFindings } from "./findings.ts";
import { withJobSpecDefaults } from "./job-defaults.ts";
import { checkJobRules } from "./job-rules.ts";

const template = (spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  metadata,
  spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }], ...spec },
});
function errorsOf(spec: JsonObject) {
  const found = noFindings();
  checkJobRules(withJobSpecDefaults({ template: template(), ...spec }), ["spec"], found);
  return found.errors;
}
const briefly = (spec: JsonObject) =>
  errorsOf(spec).map(({ reason, field }) => `${reason.replace("FieldValue", "")} ${field.replace("spec.", "")}`);
const messages = (spec: JsonObject) => errorsOf(spec).map(({ field, message }) => `${field}: ${message}`);
const indexed = (spec: JsonObject): JsonObject => ({ completionMode: "Indexed", completions: 5, ...spec });

describe("numbers", () => {
  const counts = ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"];
  test.each(counts)("%s may be 0 and not less", (name) => {
    expect(briefly({ [name]: 0 })).toEqual([]);
    expect(messages({ [name]: -1 })).toEqual([`spec.${name}: Invalid value: -1: must be greater than or equal to 0`]);
  });

  test.each(["backoffLimitPerIndex", "maxFailedIndexes"])("%s may be 0 and not less", (name) => {
    expect(briefly(indexed({ backoffLimitPerIndex: 1, [name]: 0 }))).toEqual([]);
    expect(briefly(indexed({ backoffLimitPerIndex: 1, [name]: -1 }))).toEqual([`Invalid ${name}`]);
  });
});

describe("indexes", () => {
  test.each<[string, JsonObject, string[]]>([
    ["an unknown mode", { completionMode: "Odd", backoffLimitPerIndex: 1 }, ["NotSupported completionMode"]],
    ["no length", { completionMode: "Indexed", parallelism: 2 }, ["Required completions"]],
    ["a limit per index without indexes", { backoffLimitPerIndex: 1 }, ["Invalid backoffLimitPerIndex"]],
    ["a limit of failed indexes without indexes", { maxFailedIndexes: 1 }, ["Invalid maxFailedIndexes"]],
    ["an early success without indexes", { successPolicy: { rules: [] } }, ["Invalid successPolicy"]],
    [
      "a limit of failed indexes without one per index",
      indexed({ maxFailedIndexes: 1 }),
      ["Required backoffLimitPerIndex"],
    ],
    [
      "more failed indexes than there are",
      indexed({ backoffLimitPerIndex: 1, maxFailedIndexes: 6 }),
      ["Invalid maxFailedIndexes"],
    ],
    ["too many pods at once", indexed({ parallelism: 100_001 }), ["Invalid parallelism"]],
    [
      "very many indexes with limits and no bound of failures",
      indexed({ completions: 100_001, backoffLimitPerIndex: 1 }),
      ["Required maxFailedIndexes"],
    ],
    [
      "very many indexes with limits and loose bounds",
      indexed({ completions: 100_001, backoffLimitPerIndex: 1, maxFailedIndexes: 10_001, parallelism: 10_001 }),
      ["Invalid parallelism", "Invalid maxFailedIndexes"],
    ],
  ])("are refused with %s", (_, spec, expected) => {
    expect(briefly(spec)).toEqual(expected);
  });

  test.each<[string, JsonObject]>([
    ["exactly as many failures as indexes", indexed({ backoffLimitPerIndex: 0, maxFailedIndexes: 5 })],
    ["very many without limits", indexed({ completions: 1_000_000, parallelism: 100_000 })],
    [
      "very many with strict bounds",
      indexed({ completions: 100_001, backoffLimitPerIndex: 1, maxFailedIndexes: 10_000, parallelism: 10_000 }),
    ],
    ["none at all", indexed({ completions: 0 })],
    ["many pods without indexes", { parallelism: 1_000_000 }],
  ])("are taken with %s", (_, spec) => {
    expect(briefly(spec)).toEqual([]);
  });
});

describe("managedBy", () => {
  test.each<[string, string[]]>([
    ["kubernetes.io/job-controller", []],
    ["example.com/a/b", []],
    ["example.com", ["Invalid managedBy"]],
    ["example.com/", ["Invalid managedBy"]],
    ["/controller", ["Invalid managedBy"]],
    ["Example.com/controller", ["Invalid managedBy"]],
    ["", ["Invalid managedBy"]],
    [`example.com/${"x".repeat(51)}`, []],
    [`example.com/${"x".repeat(52)}`, ["TooLong managedBy"]],
  ])("%j: %j", (managedBy, expected) => {
    expect(briefly({ managedBy })).toEqual(expected);
  });
});

describe("the template", () => {
  test.each<[string, JsonObject, string[]]>([
    ["must be there", {}, ["Required template.spec"]],
    ["may not restart always", template({ restartPolicy: "Always" }), ["NotSupported template.spec.restartPolicy"]],
    [
      "may not say nothing about restarts",
      template({ restartPolicy: undefined }),
      ["NotSupported template.spec.restartPolicy"],
    ],
    ["may restart on failure", template({ restartPolicy: "OnFailure" }), []],
    [
      "may not restart sometimes",
      template({ restartPolicy: "Sometimes" }),
      ["NotSupported template.spec.restartPolicy"],
    ],
    ["has labels that are labels", template({}, { labels: { a: "b c" } }), ["Invalid template.metadata.labels.a"]],
  ])("%s", (_, value, expected) => {
    expect(briefly({ template: value })).toEqual(expected);
  });

  test("is told which restarts there are", () => {
    expect(messages({ template: template({ restartPolicy: "Always" }) })).toEqual([
      'spec.template.spec.restartPolicy: Unsupported value: "Always": supported values: "OnFailure", "Never"',
    ]);
  });
});

describe("the failure policy", () => {
  const at = "podFailurePolicy.rules[0]";
  const withRules = (...rules: JsonObject[]): JsonObject => ({ podFailurePolicy: { rules } });
  const codes = (more: JsonObject): JsonObject => ({
    action: "FailJob",
    onExitCodes: { operator: "In", values: [1], ...more },
  });
  const condition = (more: JsonObject): JsonObject => ({
    action: "Ignore",
    onPodConditions: [{ type: "DisruptionTarget", status: "True", ...more }],
  });

  test.each<[string, JsonObject, string[]]>([
    ["no action", withRules({ ...codes({}), action: undefined }), [`Required ${at}.action`]],
    ["an unknown action", withRules({ ...codes({}), action: "Explode" }), [`NotSupported ${at}.action`]],
    ["an action for indexes", withRules({ ...codes({}), action: "FailIndex" }), [`Invalid ${at}.action`]],
    ["nothing to look at", withRules({ action: "Count" }), [`Invalid ${at}`]],
    ["two things to look at", withRules({ ...codes({}), ...condition({}) }), [`Invalid ${at}`]],
    ["an unknown operator", withRules(codes({ operator: "Above" })), [`NotSupported ${at}.onExitCodes.operator`]],
    ["no operator", withRules(codes({ operator: undefined })), [`Required ${at}.onExitCodes.operator`]],
    ["no codes", withRules(codes({ values: [] })), [`Invalid ${at}.onExitCodes.values`]],
    ["success among the codes", withRules(codes({ values: [0, 1] })), [`Invalid ${at}.onExitCodes.values[0]`]],
    ["a code twice", withRules(codes({ values: [1, 1] })), [`Duplicate ${at}.onExitCodes.values[1]`]],
    ["codes out of order", withRules(codes({ values: [2, 1] })), [`Invalid ${at}.onExitCodes.values`]],
    [
      "too many codes",
      withRules(codes({ values: Array.from({ length: 256 }, (_, index) => index + 1) })),
      [`TooMany ${at}.onExitCodes.values`],
    ],
    [
      "a container that is not there",
      withRules(codes({ containerName: "d" })),
      [`Invalid ${at}.onExitCodes.containerName`],
    ],
    ["a condition without a type", withRules(condition({ type: "" })), [`Required ${at}.onPodConditions[0].type`]],
    ["a condition of no name", withRules(condition({ type: "a b" })), [`Invalid ${at}.onPodConditions[0].type`]],
    [
      "a condition of no status",
      withRules(condition({ status: "Yes" })),
      [`NotSupported ${at}.onPodConditions[0].status`],
    ],
    [
      "too many conditions",
      withRules({
        action: "Ignore",
        onPodConditions: Array.from({ length: 21 }, () => ({ type: "T", status: "True" })),
      }),
      [`TooMany ${at}.onPodConditions`],
    ],
    ["too many rules", withRules(...Array.from({ length: 21 }, () => codes({}))), ["TooMany podFailurePolicy.rules"]],
    [
      "pods that restart",
      { ...withRules(), template: template({ restartPolicy: "OnFailure" }) },
      ["Invalid template.spec.restartPolicy"],
    ],
    [
      "replacement of pods that are still ending",
      { ...withRules(), podReplacementPolicy: "TerminatingOrFailed" },
      ["NotSupported podReplacementPolicy"],
    ],
  ])("is refused with %s", (_, spec, expected) => {
    expect(briefly(spec)).toEqual(expected);
  });

  test.each<[string, JsonObject]>([
    [
      "codes of an init container",
      {
        ...withRules(codes({ containerName: "i" })),
        template: template({ initContainers: [{ name: "i", image: "i" }] }),
      },
    ],
    ["success among those that do not count", withRules(codes({ operator: "NotIn", values: [0, 255] }))],
    [
      "an index that fails at once",
      indexed({ ...withRules({ ...codes({}), action: "FailIndex" }), backoffLimitPerIndex: 0 }),
    ],
    ["a condition with a domain", withRules(condition({ type: "example.com/Lost" }))],
    ["no rules", withRules()],
  ])("is taken with %s", (_, spec) => {
    expect(briefly(spec)).toEqual([]);
  });
});

describe("the success policy", () => {
  const withRules = (...rules: JsonObject[]) => indexed({ successPolicy: { rules } });
  const at = "successPolicy.rules[0]";

  test.each<[string, JsonObject, string[]]>([
    ["no rules", withRules(), ["Required successPolicy.rules"]],
    ["a rule about nothing", withRules({}), [`Required ${at}`]],
    ["less than no successes", withRules({ succeededCount: -1 }), [`Invalid ${at}.succeededCount`]],
    ["more successes than indexes", withRules({ succeededCount: 6 }), [`Invalid ${at}.succeededCount`]],
    [
      "more successes than are named",
      withRules({ succeededCount: 3, succeededIndexes: "0-1" }),
      [`Invalid ${at}.succeededCount`],
    ],
    ["indexes that are none", withRules({ succeededIndexes: "a-b" }), [`Invalid ${at}.succeededIndexes`]],
    ["indexes beyond the last", withRules({ succeededIndexes: "4-5" }), [`Invalid ${at}.succeededIndexes`]],
    [
      "a text that is too long",
      withRules({ succeededIndexes: "0,".repeat(33_000) }),
      [`TooLong ${at}.succeededIndexes`],
    ],
    [
      "too many rules",
      withRules(...Array.from({ length: 21 }, () => ({ succeededCount: 1 }))),
      ["TooMany successPolicy.rules"],
    ],
  ])("is refused with %s", (_, spec, expected) => {
    expect(briefly(spec)).toEqual(expected);
  });

  test.each<[JsonObject]>([
    [{ succeededCount: 5 }],
    [{ succeededIndexes: "0,2-4" }],
    [{ succeededIndexes: "1-2", succeededCount: 2 }],
  ])("is taken with %j", (rule) => {
    expect(briefly(withRules(rule))).toEqual([]);
  });
});

test.each<[string, string[]]>([
  ["Failed", []],
  ["TerminatingOrFailed", []],
  ["Never", ["NotSupported podReplacementPolicy"]],
])("the replacement policy %s without a failure policy: %j", (podReplacementPolicy, expected) => {
  expect(briefly({ podReplacementPolicy })).toEqual(expected);
});

describe("defaults", () => {
  test("leave a spec with all of them as it is", () => {
    const once = withJobSpecDefaults({ template: template() });
    expect(withJobSpecDefaults(once)).toBe(once);
  });

  test("never replace what is there", () => {
    const value = fc.oneof(fc.nat(5), fc.constantFrom("Indexed", "Failed", ""), fc.boolean());
    const names = ["parallelism", "completions", "backoffLimit", "completionMode", "suspend", "podReplacementPolicy"];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), value), (given) => {
        expect(withJobSpecDefaults(given)).toMatchObject(given);
      }),
      { numRuns: 100 },
    );
  });
});

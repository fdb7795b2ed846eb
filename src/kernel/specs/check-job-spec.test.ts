import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { checkJobSpec } from "./check-job-spec.ts";

const at = ["spec", "steps", "b", "jobTemplate", "spec"];
const prefix = "spec.steps.b.jobTemplate.spec.";
const isOpen = (text: string) => text.includes("${{");
const pod = (spec: JsonObject = {}): JsonObject => ({
  spec: { restartPolicy: "Never", containers: [{ name: "c", image: "busybox:1" }], ...spec },
});
const check = (spec: JsonObject) => checkJobSpec({ template: pod(), ...spec }, at, { isOpen });
/** `Reason field`, without what is the same in all of them. */
const briefly = (spec: JsonObject) =>
  check(spec).causes.map(
    ({ reason = "", field = "" }) => `${reason.replace("FieldValue", "")} ${field.replace(prefix, "")}`,
  );

test("a Job that is right has nothing against it", () => {
  expect(check({ backoffLimit: 0, parallelism: 2, completions: 4 })).toEqual({
    causes: [],
    unsupported: [],
    unknown: [],
    warnings: [],
  });
});

test("every field is named from the path of the caller, in the words of the API server", () => {
  expect(check({ parallelism: -1, backoffLimit: "two" }).causes).toEqual([
    {
      reason: "FieldValueTypeInvalid",
      field: `${prefix}backoffLimit`,
      message: expect.stringMatching(/^Invalid value: "two": .*integer/),
    },
    {
      reason: "FieldValueInvalid",
      field: `${prefix}parallelism`,
      message: "Invalid value: -1: must be greater than or equal to 0",
    },
  ]);
});

test("an empty path names fields from the spec", () => {
  expect(checkJobSpec({ backoffLimit: -1, template: pod(), typo: 1 }, []).causes.map(({ field }) => field)).toEqual([
    "backoffLimit",
  ]);
  expect(checkJobSpec({ template: pod(), typo: 1, "a.b": 2 }, []).unknown).toEqual(["typo", "[a.b]"]);
});

describe("refuses", () => {
  test.each<[string, JsonObject, string[]]>([
    ["negative counts", { completions: -1, backoffLimit: -1 }, ["Invalid completions", "Invalid backoffLimit"]],
    ["texts where numbers belong", { parallelism: "3" }, ["TypeInvalid parallelism"]],
    ["fractions where integers belong", { completions: 1.5 }, ["TypeInvalid completions"]],
    ["numbers where texts belong", { completionMode: 1 }, ["TypeInvalid completionMode"]],
    ["a spec without a template", { template: null }, ["Required template.spec"]],
    ["a template that is no object", { template: "pod" }, ["TypeInvalid template"]],
    ["a template without pods", { template: {} }, ["Required template.spec"]],
    ["pods without containers", { template: pod({ containers: [] }) }, ["Required template.spec.containers"]],
    ["containers that are no list", { template: pod({ containers: {} }) }, ["TypeInvalid template.spec.containers"]],
    [
      "a container without an image",
      { template: pod({ containers: [{ name: "c" }] }) },
      ["Required template.spec.containers[0].image"],
    ],
    [
      "pods that always restart",
      { template: pod({ restartPolicy: "Always" }) },
      ["NotSupported template.spec.restartPolicy"],
    ],
    [
      "an absent restart policy, which means Always",
      { template: { spec: { containers: [{ name: "c", image: "i" }] } } },
      ["NotSupported template.spec.restartPolicy"],
    ],
  ])("%s", (_, spec, expected) => {
    expect(briefly(spec)).toEqual(expected);
  });

  test("a wrong type in one place does not hide a wrong number in another", () => {
    const containers = [{ name: "c", image: "i", ports: [{ containerPort: 70_000 }], command: "ls" }];
    expect(briefly({ completions: "x", backoffLimit: -1, template: pod({ containers }) })).toEqual([
      "TypeInvalid template.spec.containers[0].command",
      "TypeInvalid completions",
      "Invalid backoffLimit",
      "Invalid template.spec.containers[0].ports[0].containerPort",
    ]);
  });
});

test("fields that the type does not have are listed, wherever they are, and are no causes", () => {
  const containers = [{ name: "c", image: "i", comand: ["ls"] }];
  const { causes, unknown } = check({ backofLimit: 2, template: pod({ containers, restartPolicyy: "x" }) });
  expect(causes).toEqual([]);
  expect(unknown.map((path) => path.replace(prefix, ""))).toEqual([
    "template.spec.containers[0].comand",
    "template.spec.restartPolicyy",
    "backofLimit",
  ]);
});

test("what only this server cannot do is kept apart from what is wrong everywhere", () => {
  const volumes = [{ name: "v", csi: { driver: "d" } }];
  const found = check({ template: pod({ hostPID: true, tolerations: [{ operator: "Exists" }], volumes }) });
  expect(found.causes).toEqual([]);
  expect(found.unsupported.map(({ field }) => field?.replace(prefix, ""))).toEqual([
    "template.spec.hostPID",
    "template.spec.volumes[0].csi",
  ]);
  expect(found.warnings).toEqual([`${prefix}template.spec.tolerations: has no effect on this server`]);
});

describe("of a text whose value is not known yet", () => {
  const open = "${{ params.x }}";
  test.each<[string, JsonObject]>([
    ["a number", { parallelism: open, completions: open, backoffLimit: open }],
    ["a word", { completionMode: open, backoffLimitPerIndex: 1 }],
    ["the pod's word", { template: pod({ restartPolicy: open }) }],
    ["a whole template", { template: open }],
    ["a whole list", { template: pod({ containers: open }) }],
    ["an item of a list", { template: pod({ containers: [open] }) }],
    ["a part of a text", { template: pod({ containers: [{ name: `c-${open}`, image: `i:${open}` }] }) }],
    ["a label", { template: { metadata: { labels: { a: open } }, ...pod() } }],
    ["an amount", { template: pod({ containers: [{ name: "c", image: "i", resources: { limits: { cpu: open } } }] }) }],
    ["one of two that exclude each other", { podFailurePolicy: { rules: [{ action: "FailJob", onExitCodes: open }] } }],
    [
      "a volume that may be the one that is mounted",
      {
        template: pod({
          volumes: [{ name: open, emptyDir: {} }],
          containers: [{ name: "c", image: "i", volumeMounts: [{ name: "v", mountPath: "/v" }] }],
        }),
      },
    ],
    [
      "a container that may be the one that is meant",
      {
        template: pod({ containers: [{ name: open, image: "i" }] }),
        podFailurePolicy: {
          rules: [{ action: "FailJob", onExitCodes: { containerName: "c", operator: "In", values: [1] } }],
        },
      },
    ],
  ])("%s, nothing is said", (_, spec) => {
    expect(briefly(spec)).toEqual([]);
  });

  test("everything that does not depend on it is still judged", () => {
    const containers = [{ name: "c", image: open, volumeMounts: [{ name: "v", mountPath: "/v" }] }];
    expect(briefly({ parallelism: open, backoffLimit: -1, template: pod({ containers }) })).toEqual([
      "Invalid backoffLimit",
      "NotFound template.spec.containers[0].volumeMounts[0].name",
    ]);
  });

  test("without the caller's word for it, such a text is a text", () => {
    expect(checkJobSpec({ template: pod(), parallelism: open }, []).causes).toHaveLength(1);
  });
});

test.each([
  [{}],
  [{ template: null }],
  [{ template: [] }],
  [{ template: { spec: { containers: [null, 1, "x", []] } } }],
])("answers about %j without throwing", (spec) => {
  expect(checkJobSpec(spec, []).causes.length).toBeGreaterThan(0);
});

test("the spec is not changed", () => {
  const spec = { template: pod(), unknown: 1 };
  const before = structuredClone(spec);
  checkJobSpec(spec, []);
  expect(spec).toEqual(before);
});

const anySpec: fc.Arbitrary<JsonObject> = fc
  .record(
    {
      template: fc.oneof(
        fc.jsonValue({ maxDepth: 3 }),
        fc.record({
          spec: fc.dictionary(fc.constantFrom("containers", "volumes", "restartPolicy"), fc.jsonValue({ maxDepth: 3 })),
        }),
      ),
      parallelism: fc.jsonValue({ maxDepth: 1 }),
      completionMode: fc.jsonValue({ maxDepth: 1 }),
      podFailurePolicy: fc.record({ rules: fc.jsonValue({ maxDepth: 3 }) }),
      successPolicy: fc.jsonValue({ maxDepth: 3 }),
    },
    { requiredKeys: [] },
  )
  .map((spec) => JSON.parse(JSON.stringify(spec)) as JsonObject);

test("no JSON makes it throw, and every cause is under the path it was given", () => {
  fc.assert(
    fc.property(anySpec, (spec) => {
      const { causes, unsupported } = checkJobSpec(spec, ["a", 0]);
      for (const { field } of [...causes, ...unsupported]) expect(field).toMatch(/^a\[0\]/);
    }),
    { numRuns: 200 },
  );
});

test("where every text is open, no text is blamed", () => {
  fc.assert(
    fc.property(anySpec, (spec) => {
      const blamed = checkJobSpec(spec, [], { isOpen: () => true }).causes.filter(
        ({ field = "", message = "" }) => message.startsWith(`Invalid value: "`) && field !== "",
      );
      expect(blamed).toEqual([]);
    }),
    { numRuns: 200 },
  );
});

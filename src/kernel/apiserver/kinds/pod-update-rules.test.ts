import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { served, writeNew, writeOver } from "../testing/write-steps.ts";
import { podKind } from "./pod.ts";

const pods = served(podKind);
const file = (spec: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: {
    containers: [{ name: "c", image: "nginx:1", resources: { limits: { cpu: 1, memory: "1Gi" } } }],
    initContainers: [{ name: "i", image: "busybox:1" }],
    ...spec,
  },
});
const stored = (spec: JsonObject = {}, added: JsonObject = {}): JsonObject => {
  const { object } = writeNew(pods, file(spec));
  return { ...object, spec: { ...(object["spec"] as JsonObject), ...added } };
};
/** The errors of a PUT that changes some members of the stored spec. */
const change = (changes: JsonObject, old = stored()): readonly string[] =>
  writeOver(pods, old, { ...old, spec: { ...(old["spec"] as JsonObject), ...changes } }).errors;
const container = (changes: JsonObject): JsonObject => {
  const [first] = (stored()["spec"] as { readonly containers: readonly JsonObject[] }).containers;
  return { containers: [{ ...first, ...changes }] };
};

describe("the file a pod was made from replaces it", () => {
  test("as it is, with the account that admission chose", () => {
    const old = stored();
    const { errors, object } = writeOver(pods, old, { ...file(), metadata: old["metadata"] ?? {} });
    expect(errors).toEqual([]);
    expect(object["spec"]).toEqual(old["spec"]);
  });

  test("with another image", () => {
    const old = stored({ serviceAccountName: "builder" });
    const changed = file({
      containers: [{ name: "c", image: "nginx:2", resources: { limits: { cpu: "1000m", memory: "1024Mi" } } }],
    });
    const { errors, object } = writeOver(pods, old, { ...changed, metadata: old["metadata"] ?? {} });
    expect(errors).toEqual([]);
    expect(object).toMatchObject({ spec: { serviceAccountName: "builder", containers: [{ image: "nginx:2" }] } });
  });

  test("but not once it is bound to a node, which the file does not name", () => {
    const bound = stored({}, { nodeName: "here" });
    const { errors } = writeOver(pods, bound, { ...file(), metadata: bound["metadata"] ?? {} });
    expect(errors).toEqual([expect.stringMatching(/^Forbidden spec: .*found changes of spec\.nodeName$/)]);
  });
});

describe("what may change:", () => {
  const toleration = { key: "a", operator: "Exists", effect: "NoExecute" };
  test.each<[string, JsonObject, JsonObject]>([
    ["the image of a container", {}, container({ image: "nginx:2" })],
    ["the image of an init container", {}, { initContainers: [{ name: "i", image: "busybox:2" }] }],
    ["a deadline appears", {}, { activeDeadlineSeconds: 5 }],
    ["a deadline comes closer", { activeDeadlineSeconds: 60 }, { activeDeadlineSeconds: 30 }],
    ["a toleration is added", { tolerations: [toleration] }, { tolerations: [{ operator: "Exists" }, toleration] }],
    [
      "how long is tolerated",
      { tolerations: [toleration] },
      { tolerations: [{ ...toleration, tolerationSeconds: 9 }] },
    ],
    ["the node, once", {}, { nodeName: "here" }],
    ["an empty list for none", {}, { hostAliases: [], imagePullSecrets: [] }],
    ["the spelling of an amount", {}, container({ resources: { limits: { cpu: "1", memory: "1048576Ki" } } })],
  ])("%s", (_, before, changes) => {
    expect(change(changes, stored(before))).toEqual([]);
  });
});

describe("what may not change:", () => {
  const toleration = { key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 };
  const other = (...fields: readonly string[]) =>
    `Forbidden spec: Forbidden: pod updates may not change fields other than spec.containers[*].image, spec.initContainers[*].image, spec.activeDeadlineSeconds and spec.tolerations (additions only); found changes of ${fields.join(", ")}`;
  const keepTolerations =
    "Forbidden spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds";
  test.each<[string, JsonObject, JsonObject, string[]]>([
    ["a word", {}, { restartPolicy: "Never" }, [other("spec.restartPolicy")]],
    ["the account", {}, { serviceAccountName: "other" }, [other("spec.serviceAccountName", "spec.serviceAccount")]],
    ["a command", {}, container({ command: ["ls"] }), [other("spec.containers")]],
    ["an amount", {}, container({ resources: { limits: { cpu: 2, memory: "1Gi" } } }), [other("spec.containers")]],
    ["the name of a container", {}, container({ name: "d" }), [other("spec.containers")]],
    [
      "several things at once are all named",
      {},
      { restartPolicy: "Never", hostname: "h" },
      [other("spec.restartPolicy", "spec.hostname")],
    ],
    [
      "the number of containers",
      {},
      { containers: [], initContainers: [] },
      [
        "Required spec.containers: Required value",
        "Forbidden spec.containers: Forbidden: pod updates may not add or remove containers",
        "Forbidden spec.initContainers: Forbidden: pod updates may not add or remove init containers",
      ],
    ],
    [
      "a deadline moves away",
      { activeDeadlineSeconds: 60 },
      { activeDeadlineSeconds: 90 },
      ["Invalid spec.activeDeadlineSeconds: Invalid value: 90: must be less than or equal to the previous value 60"],
    ],
    [
      "a deadline vanishes",
      { activeDeadlineSeconds: 60 },
      { activeDeadlineSeconds: undefined },
      ["Invalid spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"],
    ],
    ["a toleration vanishes", { tolerations: [toleration] }, { tolerations: [] }, [keepTolerations]],
    [
      "a toleration becomes another",
      { tolerations: [toleration] },
      { tolerations: [{ ...toleration, key: "b" }] },
      [keepTolerations],
    ],
    [
      "the node of a bound pod, and everything else that is wrong with it",
      { activeDeadlineSeconds: 60 },
      { nodeName: "there", activeDeadlineSeconds: 61 },
      [
        "Invalid spec.activeDeadlineSeconds: Invalid value: 61: must be less than or equal to the previous value 60",
        other("spec.nodeName"),
      ],
    ],
  ])("%s", (_, before, changes, expected) => {
    expect(change(changes, stored(before, { nodeName: "here" }))).toEqual(expected);
  });
});

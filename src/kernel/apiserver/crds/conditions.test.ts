import { describe, expect, test } from "vitest";
import { type JsonObject, objectsAt } from "#lib/base/index.ts";
import { scalarText } from "#kernel/specs/index.ts";
import { isProtectedGroup, withCrdStatus } from "./conditions.ts";
import { createRegistry } from "./registry.ts";

const now = Date.UTC(2026, 0, 31, 12);
const later = now + 60_000;
const schema = { openAPIV3Schema: { type: "object" } };
const crd = (names: JsonObject = {}, more: JsonObject = {}): JsonObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.demo.example.org" },
  spec: {
    group: "demo.example.org",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList", ...names },
    scope: "Namespaced",
    versions: [{ name: "v1", served: true, storage: true, schema }],
  },
  ...more,
});
const gadgets = withCrdStatus(
  {
    ...crd({ plural: "gadgets", singular: "gadget", kind: "Gadget", listKind: "GadgetList", shortNames: ["g"] }),
    metadata: { name: "gadgets.demo.example.org" },
  },
  createRegistry({ now: () => now }),
  now,
);
/** A registry in which gadgets are served. */
function besideGadgets() {
  const registry = createRegistry({ now: () => now });
  registry.setCrd(gadgets);
  return registry;
}
const conditionsOf = (object: JsonObject) =>
  Object.fromEntries(
    objectsAt(object, "status", "conditions").map((one) => [
      scalarText(one["type"]),
      `${scalarText(one["status"])} ${scalarText(one["reason"])}`,
    ]),
  );

test("names that are free are accepted, and the kind is established in the same revision", () => {
  const { status } = withCrdStatus(crd(), besideGadgets(), now);
  expect(status).toEqual({
    acceptedNames: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    storedVersions: ["v1"],
    conditions: [
      {
        type: "NamesAccepted",
        status: "True",
        reason: "NoConflicts",
        message: "no conflicts found",
        lastTransitionTime: "2026-01-31T12:00:00Z",
      },
      {
        type: "Established",
        status: "True",
        reason: "InitialNamesAccepted",
        message: "the initial names have been accepted",
        lastTransitionTime: "2026-01-31T12:00:00Z",
      },
    ],
  });
});

describe("names that another kind of the group has", () => {
  test.each<[string, JsonObject, string]>([
    ["its plural as the singular", { singular: "gadgets" }, "SingularConflict"],
    ["its singular as a short name", { shortNames: ["w", "gadget"] }, "ShortNamesConflict"],
    ["its short name as the plural", { plural: "g" }, "PluralConflict"],
    ["its kind", { kind: "Gadget" }, "KindConflict"],
    ["its list kind", { listKind: "GadgetList" }, "ListKindConflict"],
    ["its kind as the list kind", { listKind: "Gadget" }, "ListKindConflict"],
  ])("are not accepted: %s", (_, names, reason) => {
    const object = withCrdStatus(crd(names), besideGadgets(), now);
    expect(conditionsOf(object)).toEqual({ NamesAccepted: `False ${reason}`, Established: "False NotAccepted" });
    expect(object).toMatchObject({ status: { acceptedNames: { kind: "", plural: "" } } });
  });

  test("are accepted once the other kind is gone", () => {
    const registry = besideGadgets();
    const refused = withCrdStatus(crd({ kind: "Gadget" }), registry, now);
    registry.removeCrd("gadgets.demo.example.org");
    const accepted = withCrdStatus(refused, registry, later);
    expect(conditionsOf(accepted)).toEqual({
      NamesAccepted: "True NoConflicts",
      Established: "True InitialNamesAccepted",
    });
    expect(objectsAt(accepted, "status", "conditions").map((one) => one["lastTransitionTime"])).toEqual([
      "2026-01-31T12:01:00Z",
      "2026-01-31T12:01:00Z",
    ]);
  });

  test("leave the accepted ones in force when they come later", () => {
    const registry = besideGadgets();
    const established = withCrdStatus(crd(), registry, now);
    registry.setCrd(established);
    const renamed = { ...established, spec: crd({ shortNames: ["g"] })["spec"] ?? {} };
    const object = withCrdStatus(renamed, registry, later);
    expect(conditionsOf(object)).toEqual({
      NamesAccepted: "False ShortNamesConflict",
      Established: "True InitialNamesAccepted",
    });
    expect(object).toMatchObject({ status: { acceptedNames: { plural: "widgets", kind: "Widget" } } });
  });

  test("are no clash with a built-in kind of another group", () => {
    const pods = crd({ plural: "pods", singular: "pod", kind: "Pod", listKind: "PodList", shortNames: ["po"] });
    expect(conditionsOf(withCrdStatus(pods, besideGadgets(), now))["NamesAccepted"]).toBe("True NoConflicts");
  });
});

test("a definition is not in its own way, and nothing that stays true begins anew", () => {
  const registry = besideGadgets();
  const first = withCrdStatus(crd(), registry, now);
  registry.setCrd(first);
  expect(withCrdStatus(first, registry, later)).toEqual(first);
});

test("conditions of others stay, and so do stored versions", () => {
  const status = { conditions: [{ type: "Terminating", status: "True" }], storedVersions: ["v1alpha1"], other: 1 };
  const object = withCrdStatus(crd({}, { status }), besideGadgets(), now);
  expect(Object.keys(conditionsOf(object))).toEqual(["Terminating", "NamesAccepted", "Established"]);
  expect(object).toMatchObject({ status: { storedVersions: ["v1alpha1", "v1"], other: 1 } });
});

test.each([
  ["https://example.org/pull/1", "True ApprovedAnnotation"],
  ["unapproved", "False UnapprovedAnnotation"],
])("a group of the community approved by %j says so", (approval, expected) => {
  const object = crd({}, { metadata: { name: "x", annotations: { "api-approved.kubernetes.io": approval } } });
  const spec = { ...(object["spec"] as JsonObject), group: "demo.k8s.io" };
  const type = "KubernetesAPIApprovalPolicyConformant";
  expect(conditionsOf(withCrdStatus({ ...object, spec }, besideGadgets(), now))[type]).toBe(expected);
});

test.each([
  ["k8s.io", true],
  ["a.b.k8s.io", true],
  ["apps.kubernetes.io", true],
  ["myk8s.io", false],
  ["k8s.io.example.org", false],
])("the group %s belongs to the community: %s", (group, expected) => {
  expect(isProtectedGroup(group)).toBe(expected);
});

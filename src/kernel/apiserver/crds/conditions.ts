import {
  formatTime,
  type Instant,
  type JsonObject,
  type JsonValue,
  listAt,
  objectAt,
  objectsAt,
  textAt,
} from "#lib/base/index.ts";
import type { ResourceRegistry } from "../kinds/served-resource.ts";
import { type Definition, readDefinition } from "./definition.ts";
import { findClash, namesAsJson, type NameClash } from "./names.ts";

// Decided in the revision of the write, so `kubectl apply` of a kind and its objects needs no wait.

interface Verdict {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

/** Accepted names, established, stored versions. Pure; repeat it when a clashing definition is gone. */
export function withCrdStatus(crd: JsonObject, registry: ResourceRegistry, now: Instant): JsonObject {
  const definition = readDefinition(crd);
  const clash = findClash(definition, registry);
  const accepted = clash === undefined ? definition.names : definition.acceptedNames;
  const verdicts = [
    namesVerdict(clash),
    establishedVerdict(definition, clash),
    ...approvalVerdicts(crd, definition.group),
  ];
  const conditions = mergeConditions(objectsAt(crd, "status", "conditions"), verdicts, now);
  // Kubernetes writes these two even when empty.
  const empty = { kind: "", plural: "" };
  return {
    ...crd,
    status: {
      ...objectAt(crd, "status"),
      acceptedNames: accepted === undefined ? empty : namesAsJson(accepted),
      conditions,
      storedVersions: storedVersions(crd, definition),
    },
  };
}

const namesVerdict = (clash: NameClash | undefined): Verdict =>
  clash === undefined
    ? { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" }
    : { type: "NamesAccepted", status: "False", ...clash };

/** Once established, the accepted names stay in force. */
const establishedVerdict = (definition: Definition, clash: NameClash | undefined): Verdict =>
  clash === undefined || definition.isEstablished
    ? {
        type: "Established",
        status: "True",
        reason: "InitialNamesAccepted",
        message: "the initial names have been accepted",
      }
    : { type: "Established", status: "False", reason: "NotAccepted", message: "not all names are accepted" };

/** The approval's URL, or a text that begins with `unapproved`. */
export const approvalAnnotation = "api-approved.kubernetes.io";

/** Groups of the Kubernetes community. */
export const isProtectedGroup = (group: string): boolean =>
  [".k8s.io", ".kubernetes.io"].some((suffix) => group.endsWith(suffix)) ||
  group === "k8s.io" ||
  group === "kubernetes.io";

/** Community groups only; a rule has checked the annotation. */
function approvalVerdicts(crd: JsonObject, group: string): readonly Verdict[] {
  if (!isProtectedGroup(group)) return [];
  const approval = textAt(crd, "metadata", "annotations", approvalAnnotation) ?? "";
  const type = "KubernetesAPIApprovalPolicyConformant";
  return approval.startsWith("unapproved")
    ? [{ type, status: "False", reason: "UnapprovedAnnotation", message: `not approved: ${JSON.stringify(approval)}` }]
    : [{ type, status: "True", reason: "ApprovedAnnotation", message: `approved in ${approval}` }];
}

/** Transition times stay while the status does; other conditions are kept. */
function mergeConditions(
  before: readonly JsonObject[],
  verdicts: readonly Verdict[],
  now: Instant,
): readonly JsonObject[] {
  const known = new Map(before.map((condition) => [condition["type"], condition]));
  for (const verdict of verdicts) {
    const old = known.get(verdict.type);
    const since = old?.["status"] === verdict.status ? textAt(old, "lastTransitionTime") : undefined;
    known.set(verdict.type, { ...verdict, lastTransitionTime: since ?? formatTime(now) });
  }
  return [...known.values()];
}

/** Every former storage version, until objects are migrated. */
function storedVersions(crd: JsonObject, definition: Definition): readonly JsonValue[] {
  const before = listAt(crd, "status", "storedVersions");
  const storage = definition.versions.find((version) => version.storage)?.name;
  return storage === undefined || before.includes(storage) ? before : [...before, storage];
}

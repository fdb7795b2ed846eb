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

// The status of a CustomResourceDefinition. In Kubernetes, controllers write it some time after the object; here it is decided in the
// revision of the write, so that `kubectl apply -f crd.yaml && kubectl apply -f cr.yaml` needs no wait in between.

/** What is to be said by one condition; when it began is for mergeConditions to know. */
interface Verdict {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

/**
 * The definition with the status it deserves beside the kinds served now: whether its names are free, whether it is established,
 * what is stored. Pure, and the same for the same definition and registry but for transition times; run it again when a definition
 * that was in the way is gone. `registry` may serve the definition itself already: it is not in its own way.
 */
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
  // Kubernetes writes these two even when there are none.
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

/** Reason and message of a clash are those of the first name that is taken. */
const namesVerdict = (clash: NameClash | undefined): Verdict =>
  clash === undefined
    ? { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" }
    : { type: "NamesAccepted", status: "False", ...clash };

/** What was established stays so: new names that clash leave the accepted ones in force, and objects keep being served by them. */
const establishedVerdict = (definition: Definition, clash: NameClash | undefined): Verdict =>
  clash === undefined || definition.isEstablished
    ? {
        type: "Established",
        status: "True",
        reason: "InitialNamesAccepted",
        message: "the initial names have been accepted",
      }
    : { type: "Established", status: "False", reason: "NotAccepted", message: "not all names are accepted" };

/** Holds the URL of the pull request that approved the API, or begins with `unapproved`. */
export const approvalAnnotation = "api-approved.kubernetes.io";

/** Groups that belong to the Kubernetes community: `k8s.io`, `kubernetes.io` and everything below them. */
export const isProtectedGroup = (group: string): boolean =>
  [".k8s.io", ".kubernetes.io"].some((suffix) => group.endsWith(suffix)) ||
  group === "k8s.io" ||
  group === "kubernetes.io";

/** Only groups of the community are asked for an approval. That the annotation is there and well formed, a rule has seen to. */
function approvalVerdicts(crd: JsonObject, group: string): readonly Verdict[] {
  if (!isProtectedGroup(group)) return [];
  const approval = textAt(crd, "metadata", "annotations", approvalAnnotation) ?? "";
  const type = "KubernetesAPIApprovalPolicyConformant";
  return approval.startsWith("unapproved")
    ? [{ type, status: "False", reason: "UnapprovedAnnotation", message: `not approved: ${JSON.stringify(approval)}` }]
    : [{ type, status: "True", reason: "ApprovedAnnotation", message: `approved in ${approval}` }];
}

/** A condition keeps its transition time while its status stays; conditions of other types, and their order, stay as they are. */
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

/** Every version that was ever the storage version: objects may still be written in it, until someone has migrated them. */
function storedVersions(crd: JsonObject, definition: Definition): readonly JsonValue[] {
  const before = listAt(crd, "status", "storedVersions");
  const storage = definition.versions.find((version) => version.storage)?.name;
  return storage === undefined || before.includes(storage) ? before : [...before, storage];
}

import { defined, jsonEquals, type JsonObject, type JsonValue, objectAt } from "#lib/base/index.ts";
import type { Kind } from "#lib/schema/index.ts";
import { type Admission, admitted, collectProblems } from "#kernel/dialect/index.ts";
import { kindRules } from "./checks/kind-rules.ts";
import * as kinds from "./kinds.ts";
import { ownStatusOfApplication, ownStatusOfRun } from "./status-edits.ts";

// What is decided when an object is stored: names are filled in first, then everything is checked that shows without
// other objects and without evaluating CUE. `review` then looks at definitions and parameters. Other API servers check
// neither: there, `slipway lint` and the controller's condition Parsed report problems.

interface Rules {
  readonly ownStatus?: Admission["ownStatus"];
  readonly review?: Admission["review"];
  /** The members that decide what runs. */
  readonly acts: (object: JsonObject) => JsonValue | undefined;
  /** Updates that do not change these are not checked; default: `acts`. */
  readonly checked?: (object: JsonObject) => JsonValue | undefined;
}

function admissionOf(type: Kind, { ownStatus, review, acts, checked = acts }: Rules): Admission {
  const { group, kind } = type;
  const { complete, check } = kindRules(type);
  return {
    group,
    kind,
    coversSchema: false,
    prepareForCreate: ({ status: _dropped, ...object }) => complete(object),
    prepareForUpdate: complete,
    ...defined({ ownStatus, review }),
    actsOn: (object) => acts(object) ?? null,
    validate(object, old) {
      const found = collectProblems();
      if (old === undefined || !jsonEquals(checked(object), checked(old))) check(object, found);
      return admitted(found.problems);
    },
  };
}

const specOf = ({ spec }: JsonObject) => spec;

/** Annotations of an Application that decide what is applied, how, and with whose rights. */
const actingAnnotations = /^(?:app\.oam\.dev|filter\.oam\.dev|controller\.core\.oam\.dev|slipway\.dev)\//;

/** The server's own notes about writers are not part of what they wrote. */
const ownAnnotation = "slipway.dev/acts-for";

function actsOfApplication(object: JsonObject): JsonValue {
  const labels = objectAt(object, "metadata", "labels") ?? {};
  return [...actsOfDefinition(object), labels];
}

function actsOfDefinition(object: JsonObject): readonly JsonValue[] {
  const annotations = objectAt(object, "metadata", "annotations") ?? {};
  const acting = Object.entries(annotations).filter(([name]) => actingAnnotations.test(name) && name !== ownAnnotation);
  return [specOf(object) ?? null, Object.fromEntries(acting.sort(([a], [b]) => (a < b ? -1 : 1)))];
}

/** Loads code first. */
const reviewLater: Admission["review"] = async (object, parts) =>
  (await import("./review.ts")).reviewRun(object, parts);

const controllersStatus: Admission["ownStatus"] = (status) => status;

const definition = (kind: Kind): Admission =>
  admissionOf(kind, {
    acts: actsOfDefinition,
    checked: specOf,
    ownStatus: controllersStatus,
    review: async (object, parts) => (await import("./review.ts")).reviewDefinition(object, parts),
  });

export const admission: readonly Admission[] = [
  admissionOf(kinds.Application, {
    ownStatus: ownStatusOfApplication,
    review: reviewLater,
    acts: actsOfApplication,
    checked: specOf,
  }),
  admissionOf(kinds.WorkflowRun, {
    ownStatus: ownStatusOfRun,
    review: reviewLater,
    acts: actsOfApplication,
    checked: specOf,
  }),
  admissionOf(kinds.Workflow, {
    acts: ({ mode = null, steps = null }) => [mode, steps],
  }),
  admissionOf(kinds.Policy, {
    acts: ({ type = null, properties = null }) => [type, properties],
  }),
  admissionOf(kinds.Package, { acts: specOf }),
  definition(kinds.ComponentDefinition),
  definition(kinds.TraitDefinition),
  definition(kinds.PolicyDefinition),
  definition(kinds.WorkflowStepDefinition),
  definition(kinds.WorkloadDefinition),
  // What people write into these would be applied or deleted like what controllers wrote.
  admissionOf(kinds.DefinitionRevision, { acts: specOf }),
  admissionOf(kinds.ApplicationRevision, { acts: specOf, ownStatus: controllersStatus }),
  admissionOf(kinds.ResourceTracker, { acts: specOf, ownStatus: controllersStatus }),
  ...[
    // Approvals included: a right to the status is none to approve. RunActions are, and the server names their author.
    kinds.Rollout,
    kinds.TrafficShift,
    kinds.Insight,
    kinds.SecurityProfile,
    kinds.HelmTemplate,
    kinds.KustomizePatch,
    kinds.GitPush,
  ].map((kind) => admissionOf(kind, { acts: specOf, ownStatus: controllersStatus })),
];

import type { Kind } from "#lib/schema/index.ts";
import { ComponentDefinition, PolicyDefinition, TraitDefinition, WorkflowStepDefinition } from "../kinds.ts";
import type { DefinitionType } from "./definition.ts";

export interface TypeFacts {
  readonly kind: Kind;
  /** Of DefinitionRevisions: `spec.definitionType`, the member with the definition, and the label with its name. */
  readonly revisionType: string;
  readonly snapshot: string;
  readonly label: string;
}

const factsOf = (kind: Kind, revisionType: string, label: string): TypeFacts => ({
  kind,
  revisionType,
  snapshot: `${revisionType.charAt(0).toLowerCase()}${revisionType.slice(1)}Definition`,
  label: `${label}.oam.dev/name`,
});

export const definitionTypes = ["component", "trait", "policy", "workflow-step"] as const;

export const typeFacts: Readonly<Record<DefinitionType, TypeFacts>> = {
  component: factsOf(ComponentDefinition, "Component", "componentdefinition"),
  trait: factsOf(TraitDefinition, "Trait", "trait"),
  policy: factsOf(PolicyDefinition, "Policy", "policydefinition"),
  "workflow-step": factsOf(WorkflowStepDefinition, "WorkflowStep", "workflowstepdefinition"),
};

/** A record with a member for each type. */
export const eachType = <T>(make: (type: DefinitionType) => T): Readonly<Record<DefinitionType, T>> => ({
  component: make("component"),
  trait: make("trait"),
  policy: make("policy"),
  "workflow-step": make("workflow-step"),
});

/** Types without a template, which objects of the same name do not replace. */
export const builtInTypes: Readonly<Record<DefinitionType, readonly string[]>> = {
  component: [],
  trait: [],
  policy: [
    "topology",
    "override",
    "replication",
    "garbage-collect",
    "apply-once",
    "read-only",
    "take-over",
    "shared-resource",
    "resource-update",
    "debug",
  ],
  "workflow-step": ["suspend", "apply-component", "step-group", "restart-workflow"],
};

export const isDefinitionType = (text: string): text is DefinitionType => Object.hasOwn(typeFacts, text);

/** `name@v3`: the name and number of a revision. */
export function splitRevision(type: string): { readonly name: string; readonly revision?: number } {
  const [, name, number] = /^(.+)@v(\d{1,9})$/.exec(type) ?? [];
  return name === undefined ? { name: type } : { name, revision: Number(number) };
}

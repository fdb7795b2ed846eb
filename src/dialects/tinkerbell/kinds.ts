import { age, column, kind, type ObjectOf, type PrinterColumn, s, type TypeOf } from "#lib/schema/index.ts";
import { Agent } from "#kernel/agents/index.ts";
import { HardwareSpec, HardwareSpecV2, HardwareStatus } from "./schema/hardware.ts";
import { WorkflowStatus, WorkflowStatusV2 } from "./schema/status.ts";
import { TemplateSpec, TemplateSpecV2, TemplateStatus } from "./schema/template.ts";
import { WorkflowSpec, WorkflowSpecV2 } from "./schema/workflow.ts";

// The first version of each kind is the stored one, as in the original's definitions. Nothing is converted: an object
// keeps its fields and is changed in the version of its shape.

export const group = "tinkerbell.org";

/** `wf` is the short name of Slipway's own Workflow. */
const namesOf = { Hardware: "hardware", Template: "templates", Workflow: "workflows" } as const;
const shortNamesOf = { Hardware: ["hw"], Template: ["tpl"], Workflow: ["twf"] } as const;

const common = <const K extends keyof typeof namesOf, const V extends string>(name: K, version: V) =>
  ({
    group,
    version,
    kind: name,
    plural: namesOf[name],
    scope: "Namespaced",
    shortNames: shortNamesOf[name],
    categories: ["tinkerbell"],
  }) as const;

const wide = (name: string, path: string): PrinterColumn => column(name, path, { priority: 1 });

export const Hardware = kind({
  ...common("Hardware", "v1alpha1"),
  description: "One machine.",
  spec: HardwareSpec,
  status: HardwareStatus,
  columns: [column("State", ".status.state"), wide("Agent", ".spec.agentID"), age()],
});
export type Hardware = ObjectOf<typeof Hardware>;

export const HardwareV2 = kind({
  ...common("Hardware", "v1alpha2"),
  description: "One machine.",
  spec: HardwareSpecV2,
  status: HardwareStatus,
  columns: [column("BMC", ".spec.bmcRef.name"), wide("Agent", ".spec.agentID"), age()],
});
export type HardwareV2 = ObjectOf<typeof HardwareV2>;

export const Template = kind({
  ...common("Template", "v1alpha1"),
  description: "What to do on a machine, one text.",
  spec: TemplateSpec,
  status: TemplateStatus,
  columns: [column("State", ".status.state"), age()],
});
export type Template = ObjectOf<typeof Template>;

export const TemplateV2 = kind({
  ...common("Template", "v1alpha2"),
  description: "What to do on a machine, a list of actions.",
  spec: TemplateSpecV2,
  status: TemplateStatus,
  columns: [age()],
});
export type TemplateV2 = ObjectOf<typeof TemplateV2>;

export const Workflow = kind({
  ...common("Workflow", "v1alpha1"),
  description: "One run of a template on a machine.",
  spec: WorkflowSpec,
  status: WorkflowStatus,
  columns: [
    column("Template", ".spec.templateRef"),
    column("State", ".status.state"),
    wide("Task", ".status.currentState.taskName"),
    column("Action", ".status.currentState.actionName"),
    column("Agent", ".status.agentID"),
    column("Hardware", ".spec.hardwareRef"),
    wide("Template-Rendering", ".status.templateRendering"),
    age(),
  ],
});
export type Workflow = ObjectOf<typeof Workflow>;

export const WorkflowV2 = kind({
  ...common("Workflow", "v1alpha2"),
  description: "One run of a template on a machine.",
  spec: WorkflowSpecV2,
  status: WorkflowStatusV2,
  columns: [
    column("State", ".status.state"),
    column("Hardware", ".spec.hardwareRef.name"),
    column("Template", ".spec.templateRef.name"),
    column("Action", ".status.currentAction"),
    column("Reason", ".status.failureReason"),
    age(),
  ],
});
export type WorkflowV2 = ObjectOf<typeof WorkflowV2>;

/** Boot environment for provisioning; stored for other programs. */
export const Osie = kind({
  group,
  version: "v1alpha2",
  kind: "OSIE",
  plural: "osies",
  scope: "Namespaced",
  categories: ["tinkerbell"],
  description: "A system that machines boot into to be provisioned. Stored, and not served by this version.",
  spec: s.anyObject(),
  columns: [age()],
});

export type WorkflowStatusV1 = TypeOf<typeof WorkflowStatus>;
export type WorkflowStatusV2 = TypeOf<typeof WorkflowStatusV2>;
export type Dispatch = NonNullable<WorkflowStatusV1["dispatch"]>;

export const kinds = [Hardware, HardwareV2, Template, TemplateV2, Workflow, WorkflowV2, Osie, Agent] as const;

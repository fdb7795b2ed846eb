import { s } from "#lib/schema/index.ts";
import { flag, name, open, reference, text } from "./fields.ts";

/** Actions for power control, passed on unchanged. */
const bmcActions = s.optional(s.list(s.anyObject()));

export const WorkflowSpec = open(
  {
    templateRef: name("The Template to run."),
    hardwareRef: name("The Hardware it is rendered for."),
    hardwareMap: s.optional(s.map(s.string(), { description: "Values of the template: `{{.device_1}}`." })),
    disabled: flag("Neither prepared nor dispatched for as long as this is true."),
    bootOptions: s.optional(
      open({
        toggleAllowNetboot: flag("Allow network boot before the workflow runs, and disallow it after success."),
        bootMode: s.optional(s.oneOf("netboot", "isoboot", "iso", "customboot")),
        isoURL: text(),
        custombootConfig: s.optional(open({ preparingActions: bmcActions, postActions: bmcActions })),
      }),
    ),
  },
  "One run of a template on a machine.",
);

export const WorkflowSpecV2 = open(
  {
    hardwareRef: s.optional(reference("The Hardware it is rendered for.")),
    templateRef: s.optional(reference("The Template to run.")),
    templateParams: s.optional(s.map(s.string(), { description: "Values of the template: `{{.Params.name}}`." })),
    timeout: s.integer({ default: 0, minimum: 0, description: "Seconds from its first action; 0 is none." }),
    tasks: s.optional(s.list(s.anyObject(), { description: "Stored; this version does not run it." })),
  },
  "One run of a template on a machine.",
);

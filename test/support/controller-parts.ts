import type { ControllerParts } from "#kernel/dialect/index.ts";
import { TemplateHost } from "#kernel/template/index.ts";
import { systemClock } from "#lib/base/index.ts";

const nowhere = "/nowhere";

/** For controllers of workflows that have no templates and no agents: what they would need for those is not there. */
export const bareControllerParts: ControllerParts = {
  templates: new TemplateHost({ program: nowhere, artifact: nowhere, clock: systemClock }),
  version: "0.0.0",
  directory: nowhere,
  options: {},
  notes: [],
  audit: () => undefined,
  openPort: () => Promise.reject(new Error("there are no ports")),
  tellPort: () => undefined,
  tellLogs: () => undefined,
  tellCondition: () => undefined,
};

import type { Stored } from "#kernel/model/index.ts";

/** Longer ones are nobody's: names and namespaces of Kubernetes are far shorter. */
const maxBytes = 600;

/** Which object an agent speaks of. Without a uid it is whatever has the name now. */
export interface WorkflowPlace {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string;
}

/** What agents call a workflow: opaque to them, and different when it is created anew under its name. */
export const workflowId = ({ metadata: { namespace = "", name, uid } }: Stored): string =>
  `${namespace}/${name}/${uid}`;

/** Undefined for what names no workflow. */
export function parseWorkflowId(id: string): WorkflowPlace | undefined {
  const [namespace = "", name = "", uid, ...rest] = id.split("/");
  if (id.length > maxBytes || namespace === "" || name === "" || uid === "" || rest.length > 0) return undefined;
  return { namespace, name, ...(uid === undefined ? {} : { uid }) };
}

/** The key of the object in mirrors. */
export const placeKey = ({ namespace, name }: WorkflowPlace): string => `${namespace}/${name}`;

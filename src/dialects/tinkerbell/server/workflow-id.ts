import type { Stored } from "#kernel/model/index.ts";

const maxBytes = 600;

/** Without a uid, whichever object has the name now. */
export interface WorkflowPlace {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string;
}

/** A workflow's id for agents; opaque, and new if the workflow is recreated. */
export const workflowId = ({ metadata: { namespace = "", name, uid } }: Stored): string =>
  `${namespace}/${name}/${uid}`;

/** Undefined for an invalid id. */
export function parseWorkflowId(id: string): WorkflowPlace | undefined {
  const [namespace = "", name = "", uid, ...rest] = id.split("/");
  if (id.length > maxBytes || namespace === "" || name === "" || uid === "" || rest.length > 0) return undefined;
  return { namespace, name, ...(uid === undefined ? {} : { uid }) };
}

export const placeKey = ({ namespace, name }: WorkflowPlace): string => `${namespace}/${name}`;

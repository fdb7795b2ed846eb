import { column, kind, type ObjectOf, s } from "#lib/schema/index.ts";

/** An agent as its servers see it. Ids may hold characters that names may not, so the spec has the id. */
export const Agent = kind({
  group: "slipway.dev",
  version: "v1alpha1",
  kind: "Agent",
  plural: "agents",
  scope: "Cluster",
  categories: ["slipway"],
  description: "A program on a machine that runs what a server gives it.",
  spec: s.object({ agentID: s.string({ description: "Id that the agent reports; often a MAC address." }) }),
  status: s.object({
    connected: s.optional(s.boolean()),
    protocol: s.optional(s.string({ description: "How it talks with the server." })),
    instance: s.optional(s.string({ description: "One process of the agent." })),
    version: s.optional(s.string()),
    runtime: s.optional(s.string()),
    lastSeen: s.optional(s.time()),
    server: s.optional(s.string({ description: "The server it is connected to." })),
    currentWorkflow: s.optional(s.string({ description: "Namespace and name of what it runs." })),
    attributes: s.optional(s.anyObject({ description: "What the agent reports of its machine." })),
  }),
  columns: [
    column("ID", ".spec.agentID"),
    column("Connected", ".status.connected", { type: "boolean" }),
    column("Protocol", ".status.protocol"),
    column("Workflow", ".status.currentWorkflow"),
    column("Last-Seen", ".status.lastSeen", { type: "date" }),
  ],
});
export type Agent = ObjectOf<typeof Agent>;

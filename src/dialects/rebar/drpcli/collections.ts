/** What the verbs of a collection depend on. */
export interface CollectionRow {
  readonly name: string;
  readonly single: string;
  readonly hasParams?: true;
  readonly hasProfiles?: true;
  /** And a boot environment. */
  readonly hasTasks?: true;
  /** Jobs are created for machines. */
  readonly isMadeByName?: false;
  readonly action?: string;
}

export const collections: readonly CollectionRow[] = [
  { name: "machines", single: "machine", hasParams: true, hasProfiles: true, hasTasks: true },
  { name: "jobs", single: "job", isMadeByName: false, action: "plugin_action" },
  { name: "tasks", single: "task" },
  { name: "stages", single: "stage", hasParams: true, hasProfiles: true, hasTasks: true },
  { name: "workflows", single: "workflow" },
  { name: "bootenvs", single: "bootenv" },
  { name: "params", single: "param" },
  { name: "profiles", single: "profile", hasParams: true, hasProfiles: true },
  { name: "templates", single: "template", isMadeByName: false },
  { name: "contexts", single: "context" },
  { name: "users", single: "user" },
  { name: "roles", single: "role" },
  { name: "plugins", single: "plugin", hasParams: true },
  // Served as empty collections.
  { name: "subnets", single: "subnet" },
  { name: "leases", single: "lease" },
  { name: "reservations", single: "reservation" },
  { name: "pools", single: "pool" },
  { name: "tenants", single: "tenant" },
  { name: "endpoints", single: "endpoint", hasParams: true },
];

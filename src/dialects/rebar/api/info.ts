import type { World } from "../world.ts";
import { collections } from "../model/read.ts";

/** What clients learn about this server. */
export interface ServerFacts {
  readonly id: string;
  readonly address: string;
  readonly hostname: string;
  readonly apiPort: number;
  /** 0 without a static file server. */
  readonly filePort: number;
  readonly arch: string;
  readonly os: string;
}

export const apiVersion = "v4.8.0";

/** Features that content and clients ask for, and that this server has. */
export const features: readonly string[] = `
  api-v3 sane-exit-codes common-blob-size job-exit-states package-repository-handling profileless-machine
  fsm-runner workflows default-workflow http-range-header roles tenants separate-meta-api slim-objects sprig
  multiarch actions-in-task-list bundle-objects task-prerequisites content-prerequisite-version-checking
  stage-paramer partial-objects regex-string-filters log-has-head-method overridable-bootloaders centos-8
  virtual-media-boot elevated-tasks contexts auto-boot-target
`
  .trim()
  .split(/\s+/);

const basic = ["list", "get", "create", "update", "delete", "action", "actions"];
const secure = ["getSecure", "updateSecure"];
const extra: Readonly<Record<string, readonly string[]>> = {
  users: ["token", "password"],
  jobs: ["log"],
  machines: [...secure, "updateTaskList", "token"],
  plugins: secure,
  profiles: secure,
  stages: secure,
};
const others: Readonly<Record<string, readonly string[]>> = {
  contents: ["list", "get", "create", "update", "delete"],
  events: ["post"],
  files: ["list", "get", "post", "delete"],
  info: ["get"],
  interfaces: ["list", "get"],
  isos: ["list", "get", "post", "delete"],
  objects: ["list"],
  preferences: ["list", "post"],
  system: ["upgrade"],
};

const actionsOf = (actions: readonly string[]) => Object.fromEntries(actions.map((action) => [action, {}]));

const scopes = Object.fromEntries([
  ...collections.map((name) => [name, actionsOf([...basic, ...(extra[name] ?? [])])] as const),
  ...Object.entries(others).map(([name, actions]) => [name, actionsOf(actions)] as const),
]);

/** `GET /info`. */
export const infoOf = (facts: ServerFacts, world: World) => ({
  arch: facts.arch,
  os: facts.os,
  version: apiVersion,
  id: facts.id,
  local_id: facts.id,
  ha_id: facts.id,
  api_port: facts.apiPort,
  file_port: facts.filePort,
  secure_file_port: 0,
  dhcp_port: 0,
  binl_port: 0,
  tftp_port: 0,
  tftp_enabled: false,
  dhcp_enabled: false,
  binl_enabled: false,
  prov_enabled: facts.filePort !== 0,
  secure_prov_enabled: false,
  address: facts.address,
  server_hostname: facts.hostname,
  manager: false,
  stats: [
    { name: "machines.count", count: world.all("machines").length },
    { name: "subnets.count", count: 0 },
    { name: "contexts.count", count: world.all("contexts").length },
  ],
  features,
  scopes,
  License: { Owner: "", Grantor: "", GenerationVersion: "", Licenses: [] },
  errors: [],
  ha_enabled: false,
  ha_virtual_address: "",
  ha_is_active: true,
  ha_status: "Up",
  ha_active_id: facts.id,
  ha_passive_state: [],
  ClusterState: {},
});

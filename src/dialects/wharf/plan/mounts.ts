// Files of the organisation or the cluster that steps of several types need, at the paths where the programs of their images look for them.
// Names are those of ConfigMaps and Secrets; where there is no cluster, the runtime finds something else of that name.

import type { EnvEntry, Mount } from "./step-plan.ts";

/** Certificates of the organisation, where a step wants them. */
export const certificates = (path: string | undefined): readonly Mount[] =>
  path === undefined || path === ""
    ? []
    : [{ kind: "configMap", name: "ca-certificates-config", path, readOnly: true }];

/** A kubeconfig, where kubectl and helm look for it. */
export const kubeconfig = (cluster: string): readonly Mount[] => [
  { kind: "configMap", name: cluster, path: "/root/.kube", readOnly: true },
];

const helmDirectory = "/etc/helm/registry";

/** How helm logs in to registries; an empty name is none. */
export const helmLogin = (secret: string): { readonly mounts: readonly Mount[]; readonly env: readonly EnvEntry[] } =>
  secret === ""
    ? { mounts: [], env: [] }
    : {
        mounts: [
          {
            kind: "secret",
            name: secret,
            items: { "config.json": "config.json" },
            path: helmDirectory,
            readOnly: true,
          },
        ],
        env: [{ name: "HELM_REGISTRY_CONFIG", value: `${helmDirectory}/config.json` }],
      };

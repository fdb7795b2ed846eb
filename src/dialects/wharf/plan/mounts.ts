// Files at the paths where the programs of the images look for them. Without a cluster the runtime finds ConfigMaps
// and Secrets elsewhere.

import type { EnvEntry, Mount } from "./step-plan.ts";

export const certificates = (path: string | undefined): readonly Mount[] =>
  path === undefined || path === ""
    ? []
    : [{ kind: "configMap", name: "ca-certificates-config", path, readOnly: true }];

export const kubeconfig = (cluster: string): readonly Mount[] => [
  { kind: "configMap", name: cluster, path: "/root/.kube", readOnly: true },
];

const helmDirectory = "/etc/helm/registry";

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

import type { Mount } from "../../plan/step-plan.ts";

/** Variables that programs need; others would make steps depend on the machine. */
const inherited = ["PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER", "SHELL"] as const;

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export function hostEnvironment(
  variables: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const found = inherited.flatMap((name) => {
    const value = variables[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { PATH: defaultPath, ...Object.fromEntries(found) };
}

export const pathOf = (variables: Readonly<Record<string, string | undefined>>): readonly string[] =>
  (variables["PATH"] ?? defaultPath).split(":").filter((directory) => directory.startsWith("/"));

const kubeDirectory = "/root/.kube";

export const isKubeconfig = ({ kind, path }: Mount): boolean => kind === "configMap" && path === kubeDirectory;

/** The configured kubeconfig of the step's cluster, else the user's own. */
export function kubeVariables(
  mounts: readonly Mount[],
  clusters: ReadonlyMap<string, string>,
  variables: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const cluster = mounts.find(isKubeconfig)?.name;
  if (cluster === undefined) return {};
  const path = clusters.get(cluster) ?? variables["KUBECONFIG"];
  return path === undefined ? {} : { KUBECONFIG: path };
}

import type { Mount } from "../../plan/step-plan.ts";

/** Variables of whoever started the build that programs cannot do without; everything else would make steps depend on one person's machine. */
const inherited = ["PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER", "SHELL"] as const;

/** What is looked at where nobody has said where programs are. */
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The variables that every step on the host begins with. Those that are not set stay so. */
export function hostEnvironment(
  variables: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const found = inherited.flatMap((name) => {
    const value = variables[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { PATH: defaultPath, ...Object.fromEntries(found) };
}

/** Directories where programs are looked for. */
export const pathOf = (variables: Readonly<Record<string, string | undefined>>): readonly string[] =>
  (variables["PATH"] ?? defaultPath).split(":").filter((directory) => directory.startsWith("/"));

/** Where images have their kubeconfig. */
const kubeDirectory = "/root/.kube";

/** A kubeconfig, which on the host is one of the user's. */
export const isKubeconfig = ({ kind, path }: Mount): boolean => kind === "configMap" && path === kubeDirectory;

/** The kubeconfig of a step: the one that is configured for its cluster, else the user's own, which is found by `HOME` unless told otherwise. */
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

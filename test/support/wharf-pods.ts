import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { blocksOf } from "./markdown.ts";
import { type Kubectl, kubectlPaths, openKubectl } from "./kubectl.ts";
import { slipway } from "./slipway.ts";
import { resultsOf, type WharfProject } from "./wharf.ts";

/** A cluster that has what the guide says that a worker must be allowed. */
export interface WharfCluster {
  readonly kubectl: Kubectl;
  /** Of a build whose steps run there, as the guide's account and not as the test's own. */
  readonly options: readonly string[];
  /** The part of them that says which cluster, and as whom. */
  readonly access: readonly string[];
  /** Names of Pods of steps that are there. */
  pods(): Promise<readonly string[]>;
}

/** Sets up the account of the guide, and a secret of project 7 that steps call `mine`. */
export async function openWharfCluster(kubeconfig: string): Promise<WharfCluster> {
  const kubectl = await openKubectl(kubectlPaths[0], kubeconfig);
  const rights = blocksOf("docs/guides/wharf.md").find(({ text }) => text.includes("kind: RoleBinding"));
  await kubectl.must(["apply", "-f", "-"], { input: rights?.text ?? "" });
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "wharf-local-project-7-secretname-mine", namespace: "default" },
    stringData: { TOKEN: "top-secret" },
  };
  await kubectl.must(["apply", "-f", "-"], { input: JSON.stringify(secret) });
  const access = ["--k8s-kubeconfig", kubeconfig, "--k8s-as", "system:serviceaccount:default:wharf-cmd"];
  return {
    kubectl,
    options: ["--runtime", "kubernetes", "--pull", "missing", "--project-id", "7", ...access],
    access,
    async pods() {
      const found = await kubectl.must(["get", "pods", "-l", "app=wharf-cmd-worker-step", "-o", "name"]);
      return found.split("\n").filter(Boolean);
    },
  };
}

/** Steps that see nothing of each other, a secret that is not shown, and artifacts of both kinds. */
export function definitionInPods(image: string): string {
  const step = (cmds: readonly string[], more: object = {}): string =>
    JSON.stringify({ container: { image, cmds, ...more } });
  const own = (name: string): string =>
    step([`echo ${name} > mine`, "sleep 0.2", "ls", 'echo "$TOKEN"', 'test "$TOKEN" = top-secret'], {
      secretName: "mine",
    });
  const last = step(
    [
      'echo file > "$WHARF_ARTIFACTS_DIR/a.txt"',
      "mkdir -p out/deep",
      "echo glob > out/deep/b.txt",
      "echo no > out/c.log",
    ],
    { artifacts: ["out/**/*.txt"] },
  );
  return `first:\n  a: ${own("a")}\n  b: ${own("b")}\nsecond:\n  c: ${last}\n`;
}

/** Runs that build, and answers what it has come to. `settings` are variables. */
export async function buildInPods(
  at: WharfProject,
  { options }: WharfCluster,
  settings: Readonly<Record<string, string>> = {},
) {
  const place = { cwd: at.directory, env: { ...at.env, ...settings } };
  const { code, out, err } = await slipway(["run", ...options, "--build-id", "12"], place);
  const read = async (path: string) => JSON.parse(await readFile(join(resultsOf(at, 12), path), "utf8")) as unknown;
  const { artifacts = [] } = (await read("steps/3/artifacts.json").catch(() => ({}))) as {
    readonly artifacts?: readonly { readonly name: string }[];
  };
  return { code, out, err, artifacts: artifacts.map(({ name }) => name) };
}

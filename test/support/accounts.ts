import { writeFile } from "node:fs/promises";
import { expect } from "vitest";
import { exec } from "./slipway.ts";

/**
 * Applies rights as a guide has them, and writes a kubeconfig for each of these accounts of the namespace `default`: whoever uses it is the account.
 * `kubeconfig` is the file of the cluster's administrator.
 */
export async function giveRights(
  kubeconfig: string,
  rights: string,
  accounts: Readonly<Record<string, string>>,
): Promise<void> {
  const kubectl = async (words: readonly string[], input?: string): Promise<string> => {
    const given = input === undefined ? {} : { input };
    const { code, out, err } = await exec("kubectl", ["--kubeconfig", kubeconfig, ...words], given);
    expect(code, err).toBe(0);
    return out;
  };
  await kubectl(["apply", "-f", "-"], rights);
  const config = JSON.parse(await kubectl(["config", "view", "--raw", "-o", "json"])) as {
    readonly users: readonly { readonly name: string; readonly user: object }[];
  };
  for (const [account, file] of Object.entries(accounts)) {
    const as = `system:serviceaccount:default:${account}`;
    const users = config.users.map(({ name, user }) => ({ name, user: { ...user, as } }));
    await writeFile(file, JSON.stringify({ ...config, users }), { mode: 0o600 });
  }
}

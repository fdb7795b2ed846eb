import { err, type Result } from "#lib/base/index.ts";
import { type EgressProxy, openEgressProxy } from "#kernel/couriers/index.ts";
import { type Git, gitIn, type GitRemote } from "#kernel/git/index.ts";
import type { SourceScope, UseCaseParts } from "./parts.ts";

type Environment = UseCaseParts["environment"];

const proxyVariable = /^(?:https?|all)_proxy$/i;

/**
 * Git in a directory. Its connections by HTTP go through a proxy that obeys `EgressDeny`, unless the server's own
 * environment names a proxy, which then decides. For SSH, `openRemote` has fixed the address.
 */
export async function withGit<T>(
  work: string,
  remote: GitRemote,
  scope: SourceScope,
  { environment, egress }: UseCaseParts,
  use: (git: Git) => Promise<Result<T, string>>,
): Promise<Result<T, string>> {
  const { clock, signal } = scope;
  const isHttp = remote.source.scheme === "http" || remote.source.scheme === "https";
  const hasOwnProxy = Object.entries(environment).some(([name, value]) => proxyVariable.test(name) && value);
  if (egress === undefined || !isHttp || hasOwnProxy) return use(gitIn(work, remote, { environment, clock, signal }));
  const proxy = await openEgressProxy(egress);
  try {
    const git = gitIn(work, remote, { environment: proxied(environment, proxy), clock, signal });
    const done = await use(git);
    const failure = proxy.failure();
    return done.ok || failure === undefined ? done : err(`${done.error}: ${failure}`);
  } finally {
    await proxy.close();
  }
}

function proxied(environment: Environment, { url }: EgressProxy): Environment {
  const others = Object.entries(environment).filter(([name]) => !/_proxy$/i.test(name));
  return { ...Object.fromEntries(others), http_proxy: url, https_proxy: url, no_proxy: "" };
}

import type { ApiClient } from "#kernel/kit/index.ts";

/**
 * A control plane a command talks to, and the namespace it talks about: `--namespace`, else the kubeconfig's, else
 * `default`.
 */
export interface Session {
  readonly client: ApiClient;
  readonly namespace: string;
  close(): Promise<void>;
}

/**
 * Runs `work` against the running control plane and closes the connection afterwards, whatever happens; answers with
 * the exit code of `work`. Rejects with `no-control-plane` when none is running and none was named.
 */
export async function withSession(
  { connect }: { readonly connect: () => Promise<Session> },
  work: (session: Session) => Promise<number>,
): Promise<number> {
  const session = await connect();
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}

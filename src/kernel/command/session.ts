import type { ApiClient } from "#kernel/kit/index.ts";

/** A control plane and a namespace: `--namespace`, else the kubeconfig's, else `default`. */
export interface Session {
  readonly client: ApiClient;
  readonly namespace: string;
  close(): Promise<void>;
}

/** Runs `work` with a connection and closes it. Rejects with `no-control-plane`. */
export async function withSession<T>(
  { connect }: { readonly connect: () => Promise<Session> },
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const session = await connect();
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}

import { loadDialects } from "#dialects/index.ts";
import { createApiServer, type Identity, memoryStore } from "#kernel/apiserver/index.ts";
import { ApiChannel, type Connection, createHttpClient } from "#kernel/kit/index.ts";
import { ApiError } from "#kernel/model/index.ts";
import { type Clock, textAt } from "#lib/base/index.ts";
import { systemRandom } from "#lib/base/index.node.ts";
import { lazyPages } from "./pages.ts";
import { type LogLevel, plainLog } from "./plain-log.ts";
import { uiDirectory } from "./program-paths.ts";
import { openTemplates } from "./templates.ts";
import { openUiDoor, type UiDoor, type UiDoorOptions } from "./ui-door.ts";

export interface ClusterUiOptions extends Pick<UiDoorOptions, "directory" | "port"> {
  readonly connection: Connection;
  /** Its runs are shown where listing those of all namespaces is forbidden. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly version: string;
  readonly level: LogLevel;
  /** Ends the start. */
  readonly signal: AbortSignal;
}

export interface ClusterUi extends UiDoor {
  /** The user of the cluster, as it says. */
  readonly user: string;
  close(): Promise<void>;
}

/**
 * The web UI in front of a Kubernetes API, for one user, with that user's rights. Sessions and limits are those of a
 * server in memory, which stores no other objects and accepts no other user.
 */
export async function serveClusterUi(options: ClusterUiOptions): Promise<ClusterUi> {
  const { connection, namespace, directory, port, clock, version, level, signal } = options;
  const log = plainLog(level, clock);
  const config = { connection, clock, log, random: systemRandom, userAgent: `slipway/${version}` };
  const client = createHttpClient(config);
  const channel = new ApiChannel(config);
  const templates = openTemplates(clock);
  const store = memoryStore({ clock, log });
  const undo: (() => Promise<unknown>)[] = [
    () => store.close(),
    async () => channel.close(),
    () => client.close(),
    () => templates.close(),
  ];
  const close = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const identity: Identity = { user: await userOf(channel, signal), groups: [] };
    const dialects = await loadDialects();
    const cluster = { channel, server: connection.server, namespace };
    const pages = lazyPages(async () => ({
      client,
      cluster,
      dialects,
      templates,
      directory: uiDirectory,
      clock,
      log,
      random: systemRandom,
      version,
    }));
    const server = await createApiServer({ store, clock, log, version, pages: { ...pages, hasApi: true } });
    undo.push(() => server.close());
    const door = await openUiDoor(server, { directory, port, identity, clock });
    return { ...door, user: identity.user, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

const reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/** Also finds out at once whether the cluster answers and accepts the credential. */
async function userOf(channel: ApiChannel, signal: AbortSignal): Promise<string> {
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const body = { type: "application/json", text: JSON.stringify(review) };
  try {
    const answer = await channel.json({ method: "POST", path: reviews, body, signal });
    return textAt(answer, "status", "userInfo", "username") ?? unknownUser;
  } catch (thrown) {
    // Older clusters do not tell.
    if (thrown instanceof ApiError && (thrown.code === 403 || thrown.code === 404)) return unknownUser;
    throw thrown;
  }
}

const unknownUser = "the user of the kubeconfig";

import { createHash } from "node:crypto";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { codeOf, isJsonObject, textAt } from "#lib/base/index.ts";
import type { Connection } from "#kernel/kit/index.ts";
import type { UiLink, UiPlace } from "./ui-link.ts";

// A web UI that a command serves in front of a cluster gives further links to later commands with the same
// credentials. Only the user can open the directory of the socket: whoever reaches it has the kubeconfig as well.

const longestPage = 4096;
const patienceMs = 5000;

/** One for each server, credential and namespace. */
export function linkSocket(directory: string, connection: Connection, namespace: string): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([connection, namespace]))
    .digest("hex");
  return join(directory, `${hash.slice(0, 16)}.sock`);
}

/** A link of the web UI that listens there; undefined if none does. */
export async function askForLink(path: string, page: string): Promise<UiLink | undefined> {
  const socket = connect(path).setTimeout(patienceMs, () => socket.destroy());
  try {
    await once(socket, "connect");
    socket.end(page);
    const answer: unknown = JSON.parse(await text(socket));
    if (!isJsonObject(answer)) return undefined;
    const [code, url, until, link] = ["code", "url", "until", "link"].map((name) => textAt(answer, name));
    if (code === undefined || url === undefined || until === undefined || link === undefined) return undefined;
    return { code, url, until, link };
  } catch {
    // Nobody listens, or no longer: the caller serves the page itself.
    return undefined;
  } finally {
    socket.destroy();
  }
}

/** Answers `askForLink` until closed. Does nothing while another web UI does. */
export async function offerLinks(path: string, place: Pick<UiPlace, "link">): Promise<() => Promise<void>> {
  const answer = async (socket: Socket): Promise<void> => {
    let page = "";
    // The other half stays open for the answer.
    for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      page += chunk.toString();
      if (page.length > longestPage) return void socket.destroy();
    }
    socket.end(JSON.stringify(await place.link(page)));
  };
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.setTimeout(patienceMs, () => socket.destroy());
    answer(socket).catch(() => socket.destroy());
  });
  const listen = async (): Promise<void> => {
    server.listen(path);
    await once(server, "listening");
  };
  try {
    await listen();
  } catch (thrown) {
    if (codeOf(thrown) !== "EADDRINUSE" || (await isAnswered(path))) return async () => undefined;
    // Left by one that was killed.
    await rm(path, { force: true });
    await listen();
  }
  server.unref();
  return async () => void server.close();
}

async function isAnswered(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

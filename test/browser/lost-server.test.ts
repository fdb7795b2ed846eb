import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject, test } from "vitest";
import { cli, openPage } from "./support.ts";

// The network between the page and the server goes away for ten seconds; the server goes on.

/** Passes bytes on; closed, it refuses connections as a host without a server does. */
class Cable {
  readonly #to: number;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  port = 0;

  constructor(to: number) {
    this.#to = to;
  }

  async plugIn(): Promise<void> {
    this.#server = createServer((near) => {
      const far = connect(this.#to, "127.0.0.1");
      for (const socket of [near, far]) {
        this.#sockets.add(socket);
        socket.on("error", () => undefined);
        socket.once("close", () => {
          this.#sockets.delete(socket);
          near.destroy();
          far.destroy();
        });
      }
      near.pipe(far).pipe(near);
    });
    this.#server.listen(this.port, "127.0.0.1");
    await once(this.#server, "listening");
    this.port = (this.#server.address() as AddressInfo).port;
  }

  pullOut(): void {
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

test("ten seconds without the server: a banner, then what has happened meanwhile, and nothing is lost", async () => {
  const { url, session } = inject("server");
  const cable = new Cable(Number(new URL(url).port));
  await cable.plugIn();
  const origin = `https://127.0.0.1:${cable.port}`;
  const storageState = { ...session, origins: session.origins.map((one) => ({ ...one, origin })) };
  const page = await openPage(`${origin}/slipway/runs?sort=name`, { storageState });
  try {
    await page.getByRole("row", { name: /rollout/ }).waitFor();
    await page.getByRole("checkbox", { name: "Select rollout" }).click();
    const selection = page.getByRole("region", { name: "Selected runs" });
    const search = page.getByRole("searchbox");
    await search.fill("l");
    await page.getByRole("row", { name: /rollout/ }).waitFor();
    await expect.poll(() => page.url()).toContain("filter=l");
    await page.getByRole("checkbox", { name: "Select rollout" }).click();
    cable.pullOut();
    const start = performance.now();
    await page.getByText("Disconnected").waitFor();
    await expect.poll(() => selection.getByRole("button", { name: /^Delete/ }).isDisabled()).toBe(true);
    await page.getByRole("row", { name: /rollout/ }).waitFor();
    const changed = await cli("run", "examples/workflow/hello.yaml", "--param", "name=lost", "--detach");
    expect(changed.code, changed.err).toBe(0);
    await sleep(Math.max(0, 10_000 - (performance.now() - start)));
    expect(await page.getByText("Disconnected").count()).toBe(1);
    await cable.plugIn();
    await page.getByRole("button", { name: "Try now" }).click();
    await expect.poll(() => page.getByText("Disconnected").count(), { timeout: 30_000 }).toBe(0);
    await expect.poll(() => selection.getByRole("button", { name: /^Delete/ }).isEnabled()).toBe(true);
    await selection.getByText("1 selected").waitFor();
    expect(await search.inputValue()).toBe("l");
    expect(page.url()).toContain("sort=name");
    await page.getByRole("button", { name: /^\d+ new$/ }).click();
    await page.getByRole("row", { name: /hello/ }).first().waitFor();
  } finally {
    cable.pullOut();
  }
});

import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Interaction, InteractionOptions } from "./interaction.ts";

/** What a runtime's own test gives to the suite: a place in which commands are run beside a task. */
export interface InteractionUnderTest {
  interact(command: readonly [string, ...string[]], options: InteractionOptions): Promise<Interaction>;
  close(): Promise<void>;
}

/** What some cannot do, with the reason. */
export interface InteractionSkips {
  readonly kill?: string;
}

const plain: InteractionOptions = { stdin: false, terminal: false };
const withStdin: InteractionOptions = { stdin: true, terminal: false };
/** The busiest machine needs less. Docker lets go of a connection that nobody closes after two minutes. */
const unreadMs = 90_000;

/** The laws of every interaction. Commands are those of a POSIX shell. */
export function interactionContract(
  name: string,
  open: () => Promise<InteractionUnderTest>,
  skips: InteractionSkips = {},
): void {
  describe(`commands beside a task, ${name}`, () => {
    let tested: InteractionUnderTest;
    beforeAll(async () => {
      tested = await open();
    });
    afterAll(() => tested.close());
    const shell = (script: string, options: InteractionOptions) => tested.interact(["/bin/sh", "-c", script], options);

    test("outputs are apart and whole, and the exit code is the command's", async () => {
      const running = await shell("echo out; echo err >&2; echo again > /dev/stderr; exit 7", plain);
      const outputs = await Promise.all([text(running.stdout), text(running.stderr ?? Readable.from([]))]);
      expect(outputs).toEqual(["out\n", "err\nagain\n"]);
      expect(await running.ended).toBe(7);
    });

    test("standard input arrives whole, at the command's pace, and its end is seen", async () => {
      const bytes = Buffer.alloc(4 * 1024 * 1024, "0123456789abcdef\n");
      const running = await shell("cat /dev/stdin", withStdin);
      running.stdin?.end(bytes);
      const hash = (data: Buffer) => createHash("sha256").update(data).digest("hex");
      expect(hash(await buffer(running.stdout))).toBe(hash(bytes));
      expect(await running.ended).toBe(0);
    });

    test("without standard input there is nothing to read", async () => {
      const running = await shell("cat; echo done", plain);
      expect(running.stdin).toBeUndefined();
      expect(await text(running.stdout)).toBe("done\n");
      expect(await running.ended).toBe(0);
    });

    test(
      "a command that does not read its input is no failure of the writer's",
      async () => {
        const running = await shell("exit 3", withStdin);
        running.stdin?.write(Buffer.alloc(1024 * 1024));
        running.stdout.resume();
        running.stderr?.resume();
        expect(await running.ended).toBe(3);
      },
      unreadMs,
    );

    test("a program that does not exist is told as a shell does", async () => {
      const running = await tested.interact(["/no/such/program"], plain);
      const [out, err] = await Promise.all([text(running.stdout), text(running.stderr ?? Readable.from([]))]);
      expect([126, 127]).toContain(await running.ended);
      expect(out + err).toContain("/no/such/program");
    });

    test("a terminal is one: it has a size, which can be changed, and one output", async () => {
      const script =
        'until [ "$(stty size 2>/dev/null)" = "45 123" ]; do sleep 0.05; done; read a; echo "<$a>" >&2; exit 5';
      const running = await shell(script, { stdin: true, terminal: true });
      expect(running.stderr).toBeUndefined();
      running.resize({ columns: 123, rows: 45 });
      running.stdin?.write("it's\n");
      expect((await text(running.stdout)).replaceAll("\r", "")).toBe("it's\n<it's>\n");
      expect(await running.ended).toBe(5);
    });

    test.skipIf(skips.kill !== undefined)("killing it ends all it has started", async () => {
      const running = await shell("sleep 3600 & echo ready; wait", plain);
      await new Promise((resolve) => running.stdout.once("data", resolve));
      running.kill();
      running.kill();
      expect(await running.ended).toBe(137);
      running.stdout.destroy();
      running.stderr?.destroy();
    });
  });
}

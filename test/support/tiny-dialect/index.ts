import { command, exitCode, OptionReader, prefixedOption } from "#kernel/command/index.ts";
import type { DialectFace } from "#kernel/dialect/index.ts";
import { err, ok } from "#lib/base/index.ts";

const options = [prefixedOption("tiny", "Tiny:")("greeting", "text", "what notes are greeted with (default: hello)")];

/** The smallest whole dialect: one kind, its documents, a verb, an option and a controller. */
export const tiny: DialectFace = {
  name: "tiny",
  commands: [
    command<object>({
      name: "tiny",
      args: ["<name>"],
      summary: "Greet somebody",
      group: "Other",
      examples: ["slipway tiny you"],
      options: [],
      action({ args, environment }) {
        environment.out.write(`hello, ${args[0] ?? ""}\n`);
        return Promise.resolve(exitCode.succeeded);
      },
    }),
  ],
  serverOptions: {
    specs: options,
    read(sources) {
      const reader = new OptionReader("tiny", sources);
      const greeting = reader.oneOf("greeting", ["hello", "salve"]);
      return Promise.resolve(reader.problems.length > 0 ? err(reader.problems) : ok({ greeting }));
    },
    forControllers: {},
  },
  load: async () => (await import("./dialect.ts")).dialect,
};

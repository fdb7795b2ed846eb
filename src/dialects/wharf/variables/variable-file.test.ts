import { expect, test } from "vitest";
import { createReporter, formatDiagnostic } from "../definition/diagnostics.ts";
import { readVariableFile, variableFilePaths } from "./variable-file.ts";

function read(text: string) {
  const reporter = createReporter("/p/.wharf-vars.yml");
  const variables = readVariableFile(text, "/p/.wharf-vars.yml", reporter);
  const problems = reporter.diagnostics().map((problem) => formatDiagnostic(problem, "/p/.wharf-vars.yml"));
  return { variables: variables.map(({ name, tag, text: value }) => [name, tag, value]), problems };
}

test("several documents add to each other, other keys are ignored, and values keep types and spelling", () => {
  expect(read("vars: {A: x, B: 014}\nother: [1]\n---\n---\nvars:\n  C: yes\n  A: y\n")).toEqual({
    variables: [
      ["A", "string", "x"],
      ["B", "integer", "014"],
      ["C", "string", "yes"],
    ],
    problems: [],
  });
  expect(read("").variables).toEqual([]);
  expect(read("vars:\n").variables).toEqual([]);
});

test("what is no scalar is an error at its place, beside which the others are read", () => {
  expect(read("vars:\n  A: [1]\n  B: x\n")).toEqual({
    variables: [["B", "string", "x"]],
    problems: ["/p/.wharf-vars.yml:2:6: error: vars/A: expected text, number or boolean, found list"],
  });
  expect(read("- 1\n").problems).toHaveLength(1);
  expect(read("vars: 1\n").problems).toHaveLength(1);
  expect(read("a: [\n").problems).toHaveLength(1);
});

test("files are looked for in the project, above it, and where user and machine keep settings", () => {
  const none = () => undefined;
  const place = { projectDirectory: "/home/u/p/x", home: "/home/u", platform: "linux", variable: none };
  expect(variableFilePaths(place)).toEqual([
    "/home/u/p/x/.wharf-vars.yml",
    "/home/u/p/.wharf-vars.yml",
    "/home/u/.wharf-vars.yml",
    "/home/.wharf-vars.yml",
    "/.wharf-vars.yml",
    "/home/u/.config/iver-wharf/wharf-cmd/wharf-vars.yml",
    "/etc/iver-wharf/wharf-cmd/wharf-vars.yml",
  ]);
  const user = (more: object) => variableFilePaths({ ...place, projectDirectory: "/", ...more }).slice(1);
  expect(user({ variable: (name: string) => (name === "XDG_CONFIG_HOME" ? "/c" : undefined) })[0]).toBe(
    "/c/iver-wharf/wharf-cmd/wharf-vars.yml",
  );
  expect(user({ platform: "darwin" })).toEqual([
    "/home/u/Library/Application Support/iver-wharf/wharf-cmd/wharf-vars.yml",
  ]);
  expect(user({ platform: "win32" })).toEqual(["/home/u/AppData/Roaming/iver-wharf/wharf-cmd/wharf-vars.yml"]);
});

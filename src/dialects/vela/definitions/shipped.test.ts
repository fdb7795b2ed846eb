import { expect, test } from "vitest";
import { readAuthored } from "./authoring.ts";
import { readShipped, shippedDefinitions } from "./shipped.ts";

const text = `import (
	"vela/kube"
)

"my-step": {
	type: "workflow-step"
	annotations: category: "Any \\"thing\\""
	labels: {
		"a-b": "true"
		c:     "d"
	}
	description: "Do it"
	alias:       "It"
	attributes: {
		workload: definition: {
			apiVersion: "apps/v1"
			kind:       "Deployment"
		}
		podDisruptive: false
		appliesToWorkloads: ["*", "jobs.batch"]
		status: customStatus: #"""
			message: "a \\(b)"
			if c {
				d: 1
			}
			"""#
	}
}
template: {
	apply: kube.#Apply & {
		$params: parameter
	}
	parameter: {}
}
`;

test("a definition is read as it is stored", () => {
  expect(readShipped(text, "workflow-step/my-step")).toEqual({
    type: "workflow-step",
    name: "my-step",
    template: 'import (\n\t"vela/kube"\n)\n\napply: kube.#Apply & {\n\t$params: parameter\n}\nparameter: {}\n',
    spec: {
      workload: { definition: { apiVersion: "apps/v1", kind: "Deployment" } },
      podDisruptive: false,
      appliesToWorkloads: ["*", "jobs.batch"],
      status: { customStatus: 'message: "a \\(b)"\nif c {\n\td: 1\n}' },
    },
    annotations: {
      "definition.oam.dev/description": "Do it",
      "definition.oam.dev/alias": "It",
      "custom.definition.oam.dev/category": 'Any "thing"',
    },
    labels: { "custom.definition.oam.dev/a-b": "true", "custom.definition.oam.dev/c": "d" },
  });
});

test("a file in another format, or of another name, is refused with its path", () => {
  expect(() => readAuthored("template: {}", "a/b")).toThrow("a/b is not in the format of shipped definitions");
  expect(() => readAuthored(text.replace('"Do it"', "x | y"), "a/b")).toThrow("a/b: cannot read  | y");
  expect(() => readShipped(text, "trait/my-step")).toThrow("trait/my-step holds the definition workflow-step/my-step");
});

test("the shipped definitions are read, each with a description and a parameter", async () => {
  const all = await shippedDefinitions();
  const count = (type: string) => all.filter((definition) => definition.type === type).length;
  expect([count("component"), count("trait"), count("policy"), count("workflow-step")]).toEqual([11, 30, 13, 43]);
  for (const { name, annotations, template } of all) {
    expect(annotations["definition.oam.dev/description"], name).toMatch(/^[A-Z].{10,130}[^.]$/);
    expect(template, name).toMatch(/^parameter: /m);
  }
});

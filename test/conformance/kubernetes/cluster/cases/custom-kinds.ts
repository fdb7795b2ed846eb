import { type Case, eventually, refused } from "../suite/case.ts";
import { dropWidgets, widget, widgetDefinition } from "./documents.ts";

const define = "kubectl apply -f crd.json && kubectl wait --for=condition=Established crd/$W.$NS.example.org";

export const customKindCases: readonly Case[] = [
  {
    line: 19,
    name: "a definition and its object are applied in one command line",
    embeddedOnly: "elsewhere a definition is established some moments after its creation",
    files: { "crd.json": widgetDefinition(), "w.json": widget("w", { size: 1 }) },
    steps: [["kubectl apply -f crd.json && kubectl apply -f w.json", /widget.\S+ created/], [dropWidgets]],
  },
  {
    line: 19,
    name: "printer columns, wide ones, short names and categories",
    files: { "crd.json": widgetDefinition(), "w.json": widget("w", { size: 3 }) },
    steps: [
      [define],
      ["kubectl create -f w.json"],
      ["kubectl get $W", /^NAME +SIZE +AGE\nw +3 +\S+\n$/],
      ["kubectl get w$NS -o wide", /^NAME +SIZE +COLOR +AGE\nw +3 +red +\S+\n$/],
      ["kubectl get all", eventually(/^widget\.\S+\/w +3 /m)],
      [dropWidgets],
    ],
  },
  {
    line: 19,
    name: "defaults are added, what the schema does not know is pruned, rules are checked",
    files: {
      "crd.json": widgetDefinition(),
      "w.json": widget("w", { size: 3, unknown: 1 }),
      "big.json": widget("big", { size: 11 }),
      "text.json": widget("text", { size: "x" }),
    },
    steps: [
      [define],
      ["kubectl create --validate=false -f w.json"],
      ["kubectl get $W w -o 'jsonpath={.spec}'", '{"color":"red","size":3}'],
      ["kubectl create -f big.json", refused(/spec: Invalid value: .*size may not be more than ten/)],
      [
        "kubectl create --validate=false -f text.json",
        refused(/spec\.size: Invalid value: "string": spec\.size in body must be of type integer: "string"/),
      ],
      [dropWidgets],
    ],
  },
  {
    line: 19,
    name: "status and scale are subresources",
    since: 24,
    files: { "crd.json": widgetDefinition(), "w.json": { ...widget("w", { size: 3 }), status: { phase: "ignored" } } },
    steps: [
      [define],
      ["kubectl create -f w.json"],
      ["kubectl get $W w -o 'jsonpath={.status}'", ""],
      [
        `kubectl patch $W w --subresource=status --type=merge -p '{"status":{"phase":"Made"},"spec":{"size":9}}'`,
        /patched/,
      ],
      ["kubectl get $W w -o 'jsonpath={.status.phase} {.spec.size} {.metadata.generation}'", "Made 3 1"],
      ["kubectl scale $W w --replicas=5", /scaled/],
      ["kubectl get $W w --subresource=scale -o 'jsonpath={.kind} {.spec.replicas}'", "Scale 5"],
      ["kubectl get $W w -o 'jsonpath={.spec.size} {.metadata.generation}'", "5 2"],
      [dropWidgets],
    ],
  },
  {
    line: 19,
    name: "selectable fields select",
    files: { "crd.json": widgetDefinition(), "w.json": widget("w", { color: "blue" }), "v.json": widget("v") },
    steps: [
      [define],
      ["kubectl create -f w.json -f v.json"],
      ["kubectl get $W --field-selector spec.color=blue -o name", /^widget\.\S+\/w\n$/],
      ["kubectl get $W --field-selector spec.color!=blue -o name", /^widget\.\S+\/v\n$/],
      ["kubectl get $W --field-selector spec.size=1", refused(/field label not supported/)],
      [dropWidgets],
    ],
  },
  {
    line: 20,
    name: "a field added to a definition is kept from then on",
    files: {
      "crd.json": widgetDefinition(),
      "more.json": widgetDefinition({ weight: { type: "integer" } }),
      "w.json": widget("w", { weight: 7 }),
    },
    steps: [
      [define],
      ["kubectl create --validate=false -f w.json && test -z \"$(kubectl get $W w -o 'jsonpath={.spec.weight}')\""],
      ["kubectl apply -f more.json", /configured/],
      ["kubectl apply -f w.json 2>/dev/null && kubectl get $W w -o 'jsonpath={.spec.weight}'", eventually(/7$/)],
      [dropWidgets],
    ],
  },
  {
    line: 20,
    name: "deleting a definition removes its objects and the kind",
    files: { "crd.json": widgetDefinition(), "w.json": widget("w") },
    steps: [
      [define],
      ["kubectl create -f w.json"],
      ["kubectl delete crd $W.$NS.example.org --timeout=60s", /deleted/],
      ["kubectl get --raw /apis/$NS.example.org/v1/$W", refused(/could not find the requested resource|NotFound/)],
      [define],
      ["kubectl get $W -o name", ""],
      [dropWidgets],
    ],
  },
];

import { type Case, eventually } from "../suite/case.ts";
import { configMap, pod } from "./documents.ts";

const kustomization = [
  "namePrefix: pre-",
  "configMapGenerator:",
  "- name: made",
  "  literals: [k=v]",
  "resources: [a.yaml]",
  "",
].join("\n");

const list = (...names: readonly string[]) => ({
  apiVersion: "v1",
  kind: "List",
  items: names.map((name) => configMap(name, {}, { labels: { set: "pruned" } })),
});

export const toolCases: readonly Case[] = [
  {
    line: 25,
    name: "apply -k applies what a kustomization makes",
    files: {
      "k/kustomization.yaml": kustomization,
      "k/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    },
    steps: [
      ["kubectl apply -k k", { out: [/configmap\/pre-a created/, /configmap\/pre-made-\S+ created/] }],
      ["kubectl apply -k k", { out: /configmap\/pre-a unchanged/ }],
      ["kubectl delete -k k", /configmap "pre-a" deleted/],
    ],
  },
  {
    line: 25,
    since: 27,
    name: "apply --prune removes what is no longer declared",
    files: { "two.json": list("a", "b"), "one.json": list("a") },
    steps: [
      ["kubectl apply -f two.json --prune --prune-allowlist=core/v1/ConfigMap -l set=pruned", { err: /.*/ }],
      [
        "kubectl apply -f one.json --prune --prune-allowlist=core/v1/ConfigMap -l set=pruned 2>/dev/null",
        { out: [/configmap\/a unchanged/, /configmap\/b pruned/] },
      ],
      ["kubectl get cm -l set=pruned -o name", "configmap/a\n"],
    ],
  },
  {
    line: 25,
    since: 27,
    name: "apply --prune looks through the kinds that kubectl knows of",
    files: { "two.json": list("a", "b"), "one.json": list("a") },
    steps: [
      ["kubectl apply -f two.json --prune -l set=pruned", { err: /.*/ }],
      ["kubectl apply -f one.json --prune -l set=pruned 2>/dev/null", /configmap\/b pruned/],
      ["kubectl get cm -l set=pruned -o name", "configmap/a\n"],
    ],
  },
  {
    line: 25,
    name: "an ApplySet removes what is no longer declared",
    since: 27,
    files: { "two.json": list("a", "b"), "one.json": list("a") },
    steps: [
      ["kubectl apply --server-side --prune -n $NS --applyset=set -f two.json", /configmap\/b serverside-applied/],
      ["kubectl apply --server-side --prune -n $NS --applyset=set -f one.json", /configmap\/b pruned/],
      ["kubectl get cm -l set=pruned -o name", "configmap/a\n"],
      ["kubectl get secret set -o 'jsonpath={.metadata.labels}'", /applyset\.kubernetes\.io\/id/],
    ],
  },
  {
    line: 27,
    name: "events are listed, those of one object, and as they come",
    since: 27,
    files: {
      "p.json": pod("p", "true"),
      "q.json": pod("q", "true"),
      "watch.sh": [
        "kubectl events -w >watched &",
        "until grep -qi pod/p watched; do sleep 0.1; done",
        "kubectl create -f q.json",
        "until grep -qi pod/q watched; do sleep 0.1; done",
        "kill $!",
        "",
      ].join("\n"),
    },
    steps: [
      ["kubectl create -f p.json"],
      ["kubectl events", { ...eventually(/Pod\/p/), err: /.*/ }],
      ["kubectl events --for pod/p", eventually(/Started/)],
      ["kubectl events --for pod/p --types=Warning", { err: /No events found/ }],
      ["kubectl events --for pod/nobody", { err: /No events found/ }],
      ["kubectl get events --field-selector involvedObject.name=p,type=Normal", /pod\/p/],
      ["timeout 100 sh watch.sh", /pod\/q created/],
    ],
  },
  {
    line: 28,
    name: "proxy serves the API to programs without credentials",
    files: {
      "proxy.sh": [
        "kubectl proxy --port=0 >proxied &",
        "until grep -q Starting proxied; do sleep 0.1; done",
        // Every namespace gets one, soon after it was made.
        "until kubectl get configmap kube-root-ca.crt >/dev/null 2>&1; do sleep 0.1; done",
        "curl -sS http://$(sed -n 's/.*serve on //p' proxied)/api/v1/namespaces/$NS/configmaps?limit=500",
        "kill $!",
        "",
      ].join("\n"),
    },
    steps: [["sh proxy.sh", { out: [/"kind": ?"ConfigMapList"/, /kube-root-ca\.crt/] }]],
  },
];

// The links of the page. All state that a link must carry is in the hash, so a link opens the same
// view in another browser.

export type ViewName = 'fleet' | 'workloads' | 'why' | 'what-if' | 'cost';

export interface Route {
  view: ViewName;
  namespace: string; // empty: no workload is chosen
  name: string;
  query: Record<string, string>;
}

const VIEWS: ViewName[] = ['fleet', 'workloads', 'why', 'what-if', 'cost'];

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a link that was cut
  }
}

// Returns the workloads' route for a hash that names no view.
export function parseRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [view = '', namespace = '', name = ''] = path.split('/').map(decoded);
  const query: Record<string, string> = {};
  for (const [key, value] of new URLSearchParams(search)) query[key] = value;
  const known = VIEWS.find((one) => one === view);
  if (known === undefined) return { view: 'workloads', namespace: '', name: '', query: {} };
  return { view: known, namespace, name, query };
}

export function hashOf(route: Route): string {
  let path = `#/${route.view}`;
  if (route.name !== '') {
    path += `/${encodeURIComponent(route.namespace)}/${encodeURIComponent(route.name)}`;
  }
  const search = new URLSearchParams(
    Object.entries(route.query).filter(([, value]) => value !== ''),
  ).toString();
  return search === '' ? path : `${path}?${search}`;
}

export function workloadLink(
  view: 'why' | 'what-if',
  workload: { namespace: string; name: string; trigger?: string },
  at?: number,
): string {
  const query: Record<string, string> = {};
  if (workload.trigger) query['trigger'] = workload.trigger;
  if (at !== undefined) query['at'] = String(at);
  return hashOf({ view, namespace: workload.namespace, name: workload.name, query });
}

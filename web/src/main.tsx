// The page: its header, the view of the link, and what is wrong with the connection.
import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { setToken, token } from './api_client.ts';
import { CostView } from './cost_view.tsx';
import { FleetView } from './fleet_view.tsx';
import { type Live, live, useLive } from './live.ts';
import { Notice } from './notices.tsx';
import { setPreferences, type Theme, usePreferences } from './preferences.ts';
import { hashOf, parseRoute, type Route, type ViewName } from './route.ts';
import { clockText, instantText, plural, zoneName } from './text.ts';
import { WhatIfView } from './what_if_view.tsx';
import { WhyView } from './why_view.tsx';
import { WorkloadsView } from './workloads_view.tsx';

const VIEWS: { view: ViewName; name: string }[] = [
  { view: 'workloads', name: 'Workloads' },
  { view: 'fleet', name: 'Fleet' },
  { view: 'why', name: 'Why' },
  { view: 'what-if', name: 'What if' },
  { view: 'cost', name: 'Cost' },
];
const THEMES: Theme[] = ['system', 'light', 'dark'];

function useRoute(): [Route, (route: Route) => void] {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const read = () => setRoute(parseRoute(location.hash));
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return [route, (next) => (location.hash = hashOf(next))];
}

function Header(props: { live: Live; route: Route }) {
  const { status, connection, now } = props.live;
  const { theme, zone } = usePreferences();
  const { view, namespace, name, query } = props.route;
  const linkOf = (to: ViewName) => {
    const keepsWorkload = (to === 'why' || to === 'what-if') && name !== '';
    return hashOf({
      view: to,
      namespace: keepsWorkload ? namespace : '',
      name: keepsWorkload ? name : '',
      query: keepsWorkload && query['trigger'] ? { trigger: query['trigger'] } : {},
    });
  };
  return (
    <header class="top">
      <a class="skip" href="#main" onClick={(event) => skipToView(event)}>
        Skip to the view
      </a>
      <span class="brand">keda-gpu-scaler</span>
      <nav aria-label="Views">
        {VIEWS.map((one, index) => (
          <a
            key={one.view}
            href={linkOf(one.view)}
            aria-current={one.view === view ? 'page' : undefined}
            title={`key ${index + 1}`}
          >
            {one.name}
          </a>
        ))}
      </nav>
      <div class="where">
        <span class={`connection ${connection}`} role="status">
          <i aria-hidden="true" /> {connection === 'token' ? 'token needed' : connection}
        </span>
        {status !== null && (
          <span class="quiet" title={`${status.role} ${status.version} ${status.commit}`}>
            {status.instance}
          </span>
        )}
        {now > 0 && <time class="clock">{clockText(now, zone)}</time>}
        <button
          type="button"
          title={`Times are in ${zoneName(zone)}`}
          aria-label={`${zone === 'utc' ? 'UTC' : 'local'} time, ${zoneName(zone)}: change`}
          onClick={() => setPreferences({ zone: zone === 'utc' ? 'local' : 'utc' })}
        >
          {zone === 'utc' ? 'UTC' : 'local'}
        </button>
        <button
          type="button"
          aria-label={`${theme} theme: change`}
          onClick={() =>
            setPreferences({ theme: THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system' })
          }
        >
          {theme}
        </button>
      </div>
    </header>
  );
}

function skipToView(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function TokenForm(props: { problem: string }) {
  const [text, setText] = useState('');
  const wasSent = token() !== '';
  return (
    <form
      class="token"
      onSubmit={(event) => {
        event.preventDefault();
        setToken(text.trim());
        live.reconnect();
      }}
    >
      <h1>Token needed</h1>
      <p>
        This address is open to others, so the scaler requires a token: the content of the file of{' '}
        <code>--web-token-file</code>. It is kept in this tab only.
      </p>
      {wasSent && (
        <Notice kind="error" title="The token was refused">
          {props.problem}
        </Notice>
      )}
      <label>
        <span>token</span>
        <input
          type="password"
          autocomplete="off"
          autofocus
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary" disabled={text.trim() === ''}>
        Open
      </button>
    </form>
  );
}

function Banners(props: { live: Live }) {
  const { connection, problem, now, restartedAt, status } = props.live;
  const { zone } = usePreferences();
  return (
    <>
      {connection === 'lost' && (
        <Notice kind="error" title={problem}>
          {now > 0 ? `Shown is the state of ${instantText(now, zone)}. ` : ''}The page tries again by
          itself.{' '}
          <button type="button" onClick={() => live.reconnect()}>
            Try now
          </button>
        </Notice>
      )}
      {restartedAt !== null && (
        <Notice kind="warn" title={`The scaler restarted at ${instantText(restartedAt, zone)}`}>
          Its history begins anew{status === null ? '' : `, by ${status.instance}`}. Longer pasts are
          in Prometheus.
        </Notice>
      )}
    </>
  );
}

function Page() {
  const [route, go] = useRoute();
  const state = useLive();
  const main = useRef<HTMLElement>(null);
  const { view } = route;
  useEffect(() => {
    document.title = `${VIEWS.find((one) => one.view === view)?.name ?? ''}${
      route.name === '' ? '' : ` ${route.namespace}/${route.name}`
    } · keda-gpu-scaler`;
  }, [view, route.namespace, route.name]);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.key === '/') {
        const search = main.current?.querySelector<HTMLInputElement>('[data-key="/"]');
        if (search) {
          event.preventDefault();
          search.focus();
        }
        return;
      }
      if (/^[1-5]$/.test(event.key)) {
        document.querySelectorAll<HTMLAnchorElement>('.top nav a')[Number(event.key) - 1]?.click();
      }
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
  const body = () => {
    if (state.connection === 'token') return <TokenForm problem={state.problem} />;
    switch (view) {
      case 'fleet':
        return <FleetView live={state} />;
      case 'workloads':
        return <WorkloadsView live={state} />;
      case 'why':
        return <WhyView live={state} route={route} go={go} />;
      case 'what-if':
        return <WhatIfView live={state} route={route} go={go} />;
      case 'cost':
        return <CostView live={state} />;
    }
  };
  const { status } = state;
  return (
    <>
      <Header live={state} route={route} />
      <main id="main" ref={main} tabIndex={-1}>
        <Banners live={state} />
        {body()}
      </main>
      <footer>
        {status !== null &&
          `keda-gpu-scaler ${status.version}, ${status.role} ${status.instance}: ${plural(
            status.fleet.nodes,
            'node',
          )}, ${plural(status.fleet.gpus, 'GPU')}. `}
        Keys: 1 to 5 views, / search.
      </footer>
    </>
  );
}

void live.run();
const place = document.getElementById('page');
if (place !== null) render(<Page />, place);

// Light or dark: the system's choice until a click makes one.

const THEME = 'mmcar-report-theme';

function storedTheme() {
  try {
    return localStorage.getItem(THEME);
  } catch (error) {
    return null; // some browsers keep nothing for pages on disk
  }
}

function storeTheme(theme) {
  try {
    localStorage.setItem(THEME, theme);
  } catch (error) {
    // the choice then lasts as long as the page
  }
}

function startTheme() {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const button = find('#theme');
  const show = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.textContent = theme === 'dark' ? 'Light' : 'Dark';
    button.setAttribute('aria-label', `Switch to ${theme === 'dark' ? 'light' : 'dark'} colours`);
  };
  show(storedTheme() || (system.matches ? 'dark' : 'light'));
  system.addEventListener('change', () => storedTheme() || show(system.matches ? 'dark' : 'light'));
  button.hidden = false;
  button.addEventListener('click', () => {
    const theme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    storeTheme(theme);
    show(theme);
  });
}
